import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/support/files/temporary-folder.ts";
import { createManualClock } from "../../../lib/manual-clock.ts";
import type { LogOptions } from "./log-renderer.ts";
import { findTailStart, openLog, type ReadableFile, readLog } from "./read-log.ts";

const folder = temporaryFolder();
const line = (text: string) => `2026-01-01T00:00:00Z stdout F ${text}\n`;
const plain: LogOptions = {
  follow: false,
  previous: false,
  timestamps: false,
  sinceMs: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stream: "All",
};

/** Follows a log of these lines; the test signals changes. `meanwhile` is written before the first read. */
async function follow(
  lines: readonly string[],
  { meanwhile = "", ...options }: Partial<LogOptions> & { meanwhile?: string } = {},
) {
  const path = join(mkdtempSync(join(folder, "log-")), "0.log");
  writeFileSync(path, lines.map(line).join(""));
  const clock = createManualClock();
  const abort = new AbortController();
  const state = { running: true, watches: 0, opened: 0 };
  const output = await readLog({
    file: await open(path),
    source: {
      open: () => open(path),
      isRunning: async () => state.running,
      watch() {
        state.watches++;
        return {
          next: ({ timeoutMs, signal }) => clock.sleep(timeoutMs, signal),
          close: () => state.watches--,
        };
      },
    },
    options: { ...plain, ...options },
    clock,
    signal: abort.signal,
  });
  appendFileSync(path, meanwhile);
  const seen = { text: "", done: false, error: undefined as unknown };
  const reading = (async () => {
    for await (const chunk of output) seen.text += chunk.toString();
  })().then(
    () => {
      seen.done = true;
    },
    (error) => {
      seen.error = error;
    },
  );
  /** Waits until the reader waits for a change or has ended. */
  const settled = () => expect.poll(() => clock.sleeping() > 0 || seen.done).toBe(true);
  return { path, clock, state, seen, reading, abort, settled };
}

test("reads a log to its end", async () => {
  const { reading, seen } = await follow(["a", "b", "c"]);
  await reading;
  expect(seen).toMatchObject({ text: "a\nb\nc\n", done: true });
});

test.each([
  [2, "b\nc\n"],
  [0, ""],
])("reads the last %i lines", async (tailLines, text) => {
  const { reading, seen } = await follow(["a", "b", "c"], { tailLines });
  await reading;
  expect(seen.text).toBe(text);
});

test("follows lines that are written before the first read with tailLines 0", async () => {
  const options = { follow: true, tailLines: 0, meanwhile: line("b") };
  const { seen, settled, abort, reading } = await follow(["a"], options);
  await settled();
  expect(seen.text).toBe("b\n");
  abort.abort();
  await reading;
});

test("follows across a rotation, including the last lines of the old file", async () => {
  const { path, clock, seen, settled, state, reading } = await follow(["a", "b"], {
    follow: true,
    tailLines: 1,
  });
  await settled();
  expect(seen.text).toBe("b\n");
  renameSync(path, `${path}.1`);
  appendFileSync(`${path}.1`, line("late"));
  await clock.advance(1_000);
  await settled();
  writeFileSync(path, line("new"));
  appendFileSync(`${path}.1`, line("later"));
  await clock.advance(1_000);
  await settled();
  expect(seen.text).toBe("b\nlate\nlater\nnew\n");
  state.running = false;
  appendFileSync(path, line("last"));
  await clock.advance(1_000);
  await reading;
  expect(seen).toMatchObject({ text: "b\nlate\nlater\nnew\nlast\n", done: true });
  expect(state.watches).toBe(0);
});

test("stops following when the container has exited", async () => {
  const followed = await follow(["a"], { follow: true });
  followed.state.running = false;
  await followed.clock.advance(1_000);
  await followed.reading;
  expect(followed.seen).toMatchObject({ text: "a\n", done: true });
});

test("closes its files when the reader stops", async () => {
  const { abort, reading, seen, settled, state } = await follow(["a"], { follow: true });
  await settled();
  abort.abort(new Error("gone"));
  await reading;
  expect(seen.error).toMatchObject({ message: "gone" });
  expect(state.watches).toBe(0);
});

test("stops at the byte limit while following", async () => {
  const { reading, seen } = await follow(["abc", "def"], { follow: true, limitBytes: 5 });
  await reading;
  expect(seen).toMatchObject({ text: "abc\nd", done: true });
});

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

test("opens a log", async () => {
  const file = await openLog(inPod("web/0.log"), place);
  expect(await file.readFile("utf8")).toBe("log");
  await file.close();
});

test.each([
  ["a symbolic link", inPod("web/link.log")],
  ["a directory that is a symbolic link", inPod("linked/secret")],
  ["a hard link", inPod("web/hard.log")],
  ["a named pipe", inPod("web/pipe.log")],
  ["a directory", inPod("web")],
  ["the pod's directory itself", inPod()],
  ["another pod's log", join(root, "ns_other_2/0.log")],
  ["a path with ..", inPod("web/../../../secret")],
  ["an absolute path elsewhere", "/etc/hostname"],
])("does not open %s", async (_, path) => {
  await expect(openLog(path, place)).rejects.toThrow(/failed to open log file/);
});

test("reports a missing log", async () => {
  await expect(openLog(inPod("web/9.log"), place)).rejects.toThrow(/9\.log": no such file or directory/);
});

const fileOf = (content: Buffer): ReadableFile => ({
  read: async (buffer, offset, length, position) => ({
    bytesRead: content.copy(buffer, offset, position, position + length),
  }),
});
const tail = async (text: string, lines: number) => {
  const content = Buffer.from(text);
  return text.slice(await findTailStart(fileOf(content), content.length, lines));
};

test.each([
  ["a\nb\nc\n", 2, "b\nc\n"],
  ["a\nb\nc\n", 0, ""],
  ["a\nb\nc\n", 3, "a\nb\nc\n"],
  ["a\nb\nc\n", 9, "a\nb\nc\n"],
  ["a\nb\nunfinished", 1, "b\nunfinished"],
  ["", 5, ""],
])("finds the tail of %j with %i lines", async (text, lines, expected) => {
  expect(await tail(text, lines)).toBe(expected);
});

test("finds the tail of lines longer than a block", async () => {
  const long = `${"x".repeat(40_000)}\n`;
  expect(await tail(`first\n${long}${long}`, 1)).toBe(long);
  expect(await tail(`first\n${long}${long}`, 2)).toBe(long + long);
});
