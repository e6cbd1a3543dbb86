import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { makeTemporaryFolder } from "../../support/files/temporary-folder.ts";
import { type KubeletServerFixture, startKubeletFixture } from "../../support/node/kubelet-server.ts";
import type { ApiClient } from "../../support/servers/api-server.ts";

let kubelet: KubeletServerFixture;
let admin: ApiClient;
let root: string;
beforeAll(async () => {
  const folder = makeTemporaryFolder();
  root = join(folder.path, "log");
  mkdirSync(join(root, "pods", "a b"), { recursive: true });
  mkdirSync(join(folder.path, "log-other"));
  writeFileSync(join(folder.path, "secret"), "secret");
  writeFileSync(join(folder.path, "log-other", "secret"), "secret");
  writeFileSync(join(root, "sys.log"), "line\n".repeat(100_000));
  writeFileSync(join(root, "page.html"), "<script>1</script>");
  writeFileSync(join(root, "wtmp"), Buffer.from([1, 2, 0, 3]));
  writeFileSync(join(root, "<i>"), "");
  symlinkSync("../sys.log", join(root, "pods", "current"));
  symlinkSync("../secret", join(root, "leaked"));
  symlinkSync("../log-other", join(root, "pods-leaked"));
  symlinkSync("/", join(root, "slash"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  kubelet = await startKubeletFixture({ systemLogs: root });
  admin = kubelet.as("admin", "system:masters");
  return async () => {
    await kubelet.close();
    folder.remove();
  };
});

const get = (path: string) => admin.call("GET", path);

test("serves files, also through links within the directory", async () => {
  const { status, text, headers } = await get("/logs/sys.log");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
  expect(text).toBe("line\n".repeat(100_000));
  expect((await get("/logs/pods/current")).text).toBe(text);
  expect((await get("/logs/wtmp")).headers["content-type"]).toBe("application/octet-stream");
});

test("lists directories, and redirects to their path with a slash", async () => {
  const { status, text, headers } = await get("/logs/");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(text).toContain(
    '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n<a href="%3Ci%3E">&lt;i&gt;</a>\n',
  );
  expect(text).toContain('<a href="pods/">pods/</a>\n<a href="pods-leaked">pods-leaked</a>\n');
  const redirect = await get("/logs/pods/a%20b");
  expect([redirect.status, redirect.headers.location]).toEqual([301, "a%20b/"]);
  expect((await get("/logs/pods/a%20b/")).status).toBe(200);
});

test("serves no file as HTML, because containers may have written it", async () => {
  expect((await get("/logs/page.html")).headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  });
});

test.each([
  "/logs",
  "/logs/none",
  "/logs/sys.log/x",
  "/logs/pipe",
  "/logs/leaked",
  "/logs/pods-leaked/secret",
  "/logs/slash/",
  "/logs/slash/etc/passwd",
  "/logs/../secret",
  "/logs/%2e%2e/secret",
  "/logs/..%2fsecret",
  "/logs/pods/%2e%2e/%2e%2e/secret",
  "/logs//etc/passwd",
  "/logs/sys.log%00",
])("rejects %s", async (path) => {
  expect((await get(path)).status).toBe(404);
});

test("needs the right to read the node's log", async () => {
  expect((await kubelet.as("eve").call("GET", "/logs/")).status).toBe(403);
  expect((await kubelet.as().call("GET", "/logs/")).status).toBe(401);
  expect((await admin.call("POST", "/logs/")).status).toBe(405);
});

test("is reached through nodes/proxy, and can be disabled", async () => {
  const path = "/api/v1/nodes/n1/proxy/logs/pods/current";
  expect((await kubelet.api.call("GET", path)).text).toContain("line\n");
  const disabled = await startKubeletFixture();
  onTestFinished(disabled.close);
  const response = await disabled.as("admin", "system:masters").call("GET", "/logs/");
  expect([response.status, response.text]).toEqual([405, "logs endpoint is disabled."]);
});
