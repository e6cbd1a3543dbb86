import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findPage } from "./find-page.ts";
import { type AnswerFile, createPageFiles } from "./page-files.ts";

let home: string;
let answerFile: AnswerFile;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "kindling-page-"));
  await mkdir(join(home, "dashboard/assets"), { recursive: true });
  await writeFile(join(home, "secret.js"), "secret");
  await writeFile(join(home, "dashboard/index.html"), "<title>page</title>");
  await writeFile(join(home, "dashboard/assets/app-1a2b.js"), "go()");
  await writeFile(join(home, "dashboard/assets/app-1a2b.js.gz"), gzipSync("go()"));
  await writeFile(join(home, "dashboard/assets/app-1a2b.js.map"), "map");
  answerFile = createPageFiles(join(home, "dashboard"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const ask = (path: string, more: { acceptEncoding?: string; ifNoneMatch?: string } = {}) =>
  answerFile({ path, acceptEncoding: undefined, ifNoneMatch: undefined, ...more });

test("the page is looked at again each time, its assets never", async () => {
  const index = await ask("/");
  expect(index).toMatchObject({
    code: 200,
    headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" },
  });
  expect(String(index?.body)).toBe("<title>page</title>");
  expect(await ask("/", { ifNoneMatch: index?.headers.etag ?? "" })).toMatchObject({ code: 304, body: "" });
  expect((await ask("/assets/app-1a2b.js"))?.headers).toMatchObject({
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
])("for those who accept %s it is compressed: %s", async (acceptEncoding, isGzip) => {
  const answer = await ask("/assets/app-1a2b.js", acceptEncoding ? { acceptEncoding } : {});
  expect(answer?.headers["content-encoding"]).toBe(isGzip ? "gzip" : undefined);
  const body = Buffer.from(answer?.body ?? "");
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
])("%s is no file of the page", async (path) => {
  expect(await ask(path)).toBeUndefined();
});

test("a page that was not built says so", async () => {
  const answer = createPageFiles(undefined);
  const none = { acceptEncoding: undefined, ifNoneMatch: undefined };
  expect(await answer({ path: "/", ...none })).toMatchObject({
    code: 404,
    body: expect.stringContaining("not built"),
  });
  expect(await answer({ path: "/x", ...none })).toBeUndefined();
});

test("it is found from the command, from a chunk of it, and from nowhere else", () => {
  const page = join(home, "dashboard/");
  expect(findPage(`file://${home}/kindling.js`)).toBe(page);
  expect(findPage(`file://${home}/chunk/monitor.js`)).toBe(page);
  expect(findPage("file:///nowhere/a/b/c/kindling.js")).toBeUndefined();
});
