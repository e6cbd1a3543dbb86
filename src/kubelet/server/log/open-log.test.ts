import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { openLog } from "./open-log.ts";

const home = realpathSync(temporaryFolder());
const root = join(home, "pods");
const place = { root: join(home, "link-to-pods"), realRoot: root, directory: "ns_p_1" };
const inPod = (...names: string[]) => join(place.root, "ns_p_1", ...names);

beforeAll(() => {
  mkdirSync(join(root, "ns_p_1/web"), { recursive: true });
  symlinkSync(root, place.root);
  mkdirSync(join(root, "ns_other_2"));
  writeFileSync(join(root, "../secret"), "secret");
  writeFileSync(join(root, "ns_other_2/0.log"), "another pod's");
  writeFileSync(inPod("web/0.log"), "log");
  symlinkSync(join(root, "../secret"), inPod("web/link.log"));
  symlinkSync(join(root, ".."), inPod("linked"));
  linkSync(join(root, "../secret"), inPod("web/hard.log"));
  execFileSync("mkfifo", [inPod("web/pipe.log")]);
});

test("a log is opened", async () => {
  const file = await openLog(inPod("web/0.log"), place);
  expect(await file.readFile("utf8")).toBe("log");
  await file.close();
});

test.each([
  ["a link", inPod("web/link.log")],
  ["a folder that is a link", inPod("linked/secret")],
  ["another name of another file", inPod("web/hard.log")],
  ["a pipe", inPod("web/pipe.log")],
  ["a folder", inPod("web")],
  ["the pod's folder itself", inPod()],
  ["another pod's log", join(root, "ns_other_2/0.log")],
  ["a way out", inPod("web/../../../secret")],
  ["an absolute path elsewhere", "/etc/hostname"],
])("%s is not", async (_, path) => {
  await expect(openLog(path, place)).rejects.toThrow(/failed to open log file/);
});

test("a missing one is said to be missing", async () => {
  await expect(openLog(inPod("web/9.log"), place)).rejects.toThrow(/9\.log": no such file or directory/);
});
