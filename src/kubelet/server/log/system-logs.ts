import { constants } from "node:fs";
import { type FileHandle, open, readdir, readlink, realpath } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join, sep } from "node:path";
import { HttpError, type RequestPath, sendStream, sendText } from "../../../lib/http/http-exchange.ts";

/**
 * Handles `/logs/PATH`: the files and directories of the node's log directory, in the form of Go's file server. Unlike
 * upstream, links that lead out of the directory are not followed, and no file is served as HTML, because pods with a
 * volume in the directory can create both.
 */
export async function handleSystemLogs(
  { systemLogs: root }: { readonly systemLogs: string },
  { path, response, signal }: { path: RequestPath; response: ServerResponse; signal: AbortSignal },
): Promise<void> {
  const [, ...names] = path.segments;
  const requested = (response.req.url ?? "").split("?", 1)[0] ?? "";
  const opened = await openBelow(root, names);
  try {
    const stat = await opened.stat();
    if (stat.isDirectory()) {
      if (!requested.endsWith("/")) {
        if (names.length === 0) throw notFound();
        throw new HttpError(301, "", { location: `${encodeURIComponent(names.at(-1) ?? "")}/` });
      }
      sendText(response, await renderDirectory(opened), { type: "text/html" });
      return;
    }
    if (!stat.isFile()) throw notFound();
    const file = await open(`/proc/self/fd/${opened.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      response.setHeader("last-modified", stat.mtime.toUTCString());
      await sendStream(response, readUpTo(file, stat.size), { type: await contentTypeOf(file), signal });
    } finally {
      await file.close();
    }
  } finally {
    await opened.close();
  }
}

const notFound = () => new HttpError(404, "404 page not found");

/** `O_PATH`, which Node.js does not name: opens a file without effects, even if it is a device or a pipe. */
const openPathOnly = 0o10000000;

/** Opens a path below the root for `stat` only. Rejects with 404 if it does not exist or leads out of the root. */
async function openBelow(root: string, names: readonly string[]): Promise<FileHandle> {
  const isPlain = (name: string) => name !== "" && name !== "." && name !== ".." && !/[/\0]/.test(name);
  if (!names.every(isPlain)) throw notFound();
  const realRoot = await realpath(root).catch(rejectAccess);
  const opened = await open(join(realRoot, ...names), openPathOnly).catch(rejectAccess);
  // The path that was opened, whatever the links in it are changed to meanwhile.
  const real = await readlink(`/proc/self/fd/${opened.fd}`);
  if (real === realRoot || real.startsWith(`${realRoot}${sep}`)) return opened;
  await opened.close();
  throw notFound();
}

function rejectAccess(error: NodeJS.ErrnoException): never {
  if (error.code === "EACCES" || error.code === "EPERM") throw new HttpError(403, "403 Forbidden");
  throw notFound();
}

async function renderDirectory({ fd }: FileHandle): Promise<string> {
  const entries = await readdir(`/proc/self/fd/${fd}`, { withFileTypes: true }).catch(rejectAccess);
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const lines = entries.map((entry) => {
    const end = entry.isDirectory() ? "/" : "";
    return `<a href="${encodeURIComponent(entry.name)}${end}">${escapeHtml(entry.name)}${end}</a>\n`;
  });
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join("")}</pre>\n`;
}

function escapeHtml(text: string): string {
  const codes: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&#34;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (char) => codes[char] ?? char);
}

/** Number of bytes that decide the content type, as in Go. */
const sniffedBytes = 512;

async function contentTypeOf(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(sniffedBytes), 0, sniffedBytes, 0);
  const isBinary = buffer
    .subarray(0, bytesRead)
    .some((byte) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte));
  return isBinary ? "application/octet-stream" : "text/plain; charset=utf-8";
}

const chunkBytes = 64 << 10;

/** Reads the size that the file had when it was opened: a log that grows meanwhile would never end. */
async function* readUpTo(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let position = 0; position < size; ) {
    const length = Math.min(chunkBytes, size - position);
    // A buffer for each chunk: the response may still hold the previous one.
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}
