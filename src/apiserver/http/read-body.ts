import type { IncomingMessage } from "node:http";
import { badRequest, requestTooLarge } from "../../api/status-error.ts";

/** What upstream takes: 3 MiB. */
const maxBodyBytes = 3 * 1_024 * 1_024;

/** The whole body, or a 413 as soon as it is known to be too long. */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBodyBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBodyBytes) {
        request.pause();
        reject(tooLarge());
        return;
      }
      chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => {
      if (!request.complete) reject(badRequest("the request ended before its body did"));
    });
  });
}

function tooLarge() {
  return requestTooLarge(`limit is ${maxBodyBytes}`);
}
