import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, posix, relative, sep } from "node:path";
import { type Answer, textAnswer } from "../../lib/http/answer.ts";

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

interface PageFile {
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

/** Answers with a file of the page; undefined for what is none. */
export type AnswerFile = (request: FileRequest) => Promise<Answer | undefined>;

/**
 * The page is small: all of it is read at the first request and kept. What is answered is looked up by name among what
 * was found, so there is no path that leads elsewhere.
 */
export function createPageFiles(directory: string | undefined): AnswerFile {
  let files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  async function read(): Promise<ReadonlyMap<string, PageFile>> {
    try {
      files ??= readPage(directory ?? "");
      return await files;
    } catch (error) {
      files = undefined;
      throw error;
    }
  }

  return async ({ path, acceptEncoding, ifNoneMatch }) => {
    if (!directory)
      return path === "/" ? textAnswer(404, "The page was not built. npm run build") : undefined;
    const file = (await read()).get(path === "/" ? "/index.html" : path);
    if (!file) return undefined;
    const isGzip =
      file.gzip !== undefined && /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(acceptEncoding ?? "");
    const headers = {
      "content-type": file.type,
      // The names of these have a hash of what is in them.
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

async function readPage(directory: string): Promise<ReadonlyMap<string, PageFile>> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const known = new Set(paths);
  const files = paths.flatMap(async (path): Promise<[string, PageFile][]> => {
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
