import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { writeKubeconfig } from "./write-kubeconfig.ts";

test("a kubeconfig is private, complete, and can be written again", async () => {
  const directory = await mkdtemp(join(tmpdir(), "kindling-kubeconfig-"));
  const path = join(directory, "kubeconfig");
  const options = { server: "https://127.0.0.1:6443", ca: "CA", cert: "CERT", key: "KEY", name: 'a: "b"' };
  await writeKubeconfig(path, options);
  await writeKubeconfig(path, options);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  expect(parse(await readFile(path, "utf8"))).toEqual({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: options.name,
        cluster: { server: options.server, "certificate-authority-data": base64("CA") },
      },
    ],
    users: [
      {
        name: options.name,
        user: { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") },
      },
    ],
    contexts: [{ name: options.name, context: { cluster: options.name, user: options.name } }],
    "current-context": options.name,
  });
  await rm(directory, { recursive: true });
});
