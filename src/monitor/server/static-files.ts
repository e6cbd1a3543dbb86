import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type HttpResponse, textResponse } from "../../lib/http/http-exchange.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

interface StaticFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Buffer;
  readonly gzip: Buffer | undefined;
}

interface FileRequest {
  readonly path: string;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** Returns a response with a file of the dashboard. Undefined if there is no such file. */
export type ServeFile = (request: FileRequest) => Promise<HttpResponse | undefined>;

/**
 * Serves the files of a directory from memory; all are read at the first request. Paths are looked up among the files
 * found, so no path can leave the directory.
 */
export function createStaticFiles(directory: string | undefined): ServeFile {
  let files: Promise<ReadonlyMap<string, StaticFile>> | undefined;

  async function read(): Promise<ReadonlyMap<string, StaticFile>> {
    try {
      files ??= readFiles(directory ?? "");
      return await files;
    } catch (error) {
      files = undefined;
      throw error;
    }
  }

  return async ({ path, acceptEncoding, ifNoneMatch }) => {
    if (!directory)
      return path === "/" ? textResponse(404, "The dashboard is not built; run npm run build.") : undefined;
    const file = (await read()).get(path === "/" ? "/index.html" : path);
    if (!file) return undefined;
    const isGzip =
      file.gzip !== undefined && /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(acceptEncoding ?? "");
    const headers = {
      "content-type": file.type,
      // Names of assets contain a hash of their content.
      "cache-control": path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
      etag: file.etag,
      vary: "Accept-Encoding",
    };
    if (ifNoneMatch === file.etag) return { code: 304, headers, body: "" };
    if (isGzip)
      return { code: 200, headers: { ...headers, "content-encoding": "gzip" }, body: file.gzip ?? "" };
    return { code: 200, headers, body: file.plain };
  };
}

async function readFiles(directory: string): Promise<ReadonlyMap<string, StaticFile>> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const known = new Set(paths);
  const files = paths.flatMap(async (path): Promise<[string, StaticFile][]> => {
    const type = types[extname(path)];
    if (type === undefined) return [];
    const plain = await readFile(path);
    const gzip = known.has(`${path}.gz`) ? await readFile(`${path}.gz`) : undefined;
    const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
    const name = posix.join("/", ...relative(directory, path).split(sep));
    return [[name, { type, etag, plain, gzip }]];
  });
  return new Map((await Promise.all(files)).flat());
}

/** Locations relative to the built command, to one of its chunks, and to the sources. */
const dashboardDirs = ["dashboard/", "../dashboard/", "../../../dist/dashboard/"];

/** Finds the directory with the dashboard's files. Undefined if the dashboard is not built. */
export function findDashboardDir(from = import.meta.url): string | undefined {
  return dashboardDirs
    .map((dir) => fileURLToPath(new URL(dir, from)))
    .find((directory) => existsSync(`${directory}index.html`));
}

const policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' data:",
  "connect-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

/**
 * Headers of every response. Names and messages of pods are written by users: if one were ever rendered as markup, the
 * policy still prevents it from loading or running anything.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": policyText(policy),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
};

/** Policy of the login page, which has a form. */
export const loginPolicy = policyText({ ...policy, "form-action": "'self'" });

function policyText(directives: Readonly<Record<string, string>>): string {
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join("; ");
}
