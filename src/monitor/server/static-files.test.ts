import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createStaticFiles, findDashboardDir, type ServeFile } from "./static-files.ts";

let home: string;
let serveFile: ServeFile;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "kindling-page-"));
  await mkdir(join(home, "dashboard/assets"), { recursive: true });
  await writeFile(join(home, "secret.js"), "secret");
  await writeFile(join(home, "dashboard/index.html"), "<title>page</title>");
  await writeFile(join(home, "dashboard/assets/app-1a2b.js"), "go()");
  await writeFile(join(home, "dashboard/assets/app-1a2b.js.gz"), gzipSync("go()"));
  await writeFile(join(home, "dashboard/assets/app-1a2b.js.map"), "map");
  serveFile = createStaticFiles(join(home, "dashboard"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const get = (path: string, more: { acceptEncoding?: string; ifNoneMatch?: string } = {}) =>
  serveFile({ path, acceptEncoding: undefined, ifNoneMatch: undefined, ...more });

test("lets browsers revalidate the page and cache assets forever", async () => {
  const index = await get("/");
  expect(index).toMatchObject({
    code: 200,
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" },
  });
  expect(String(index?.body)).toBe("<title>page</title>");
  expect(await get("/", { ifNoneMatch: index?.headers.etag ?? "" })).toMatchObject({ code: 304, body: "" });
  expect((await get("/assets/app-1a2b.js"))?.headers).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
  });
});

test.each([
  ["gzip, br", true],
  ["deflate, gzip;q=0.5", true],
  ["gzip;q=0", false],
  ["br", false],
  [undefined, false],
])("compresses for Accept-Encoding %s: %s", async (acceptEncoding, isGzip) => {
  const response = await get("/assets/app-1a2b.js", acceptEncoding ? { acceptEncoding } : {});
  expect(response?.headers["content-encoding"]).toBe(isGzip ? "gzip" : undefined);
  const body = Buffer.from(response?.body ?? "");
  expect(String(isGzip ? gunzipSync(body) : body)).toBe("go()");
});

test.each([
  "/../secret.js",
  "/assets/../../secret.js",
  "/%2e%2e/secret.js",
  "//secret.js",
  "/..\\secret.js",
  "/assets",
  "/assets/app-1a2b.js.map",
  "/assets/app-1a2b.js.gz",
  "/index.html\0",
  "/__proto__",
])("does not serve %s", async (path) => {
  expect(await get(path)).toBeUndefined();
});

test("responds with an instruction when the dashboard is not built", async () => {
  const serve = createStaticFiles(undefined);
  const none = { acceptEncoding: undefined, ifNoneMatch: undefined };
  expect(await serve({ path: "/", ...none })).toMatchObject({
    code: 404,
    body: expect.stringContaining("not built"),
  });
  expect(await serve({ path: "/x", ...none })).toBeUndefined();
});

test("finds the dashboard beside the command and its chunks only", () => {
  const page = join(home, "dashboard/");
  expect(findDashboardDir(`file://${home}/kindling.js`)).toBe(page);
  expect(findDashboardDir(`file://${home}/chunk/monitor.js`)).toBe(page);
  expect(findDashboardDir("file:///nowhere/a/b/c/kindling.js")).toBeUndefined();
});
