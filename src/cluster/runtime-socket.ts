import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where a node's own runtime serves. The kernel takes no path of a socket that is longer than 107 bytes. */
export function runtimeSocket(nodeDir: string): string {
  const path = join(nodeDir, "runtime.sock");
  if (Buffer.byteLength(path) <= 107) return path;
  return join(tmpdir(), `kindling-${createHash("sha256").update(nodeDir).digest("hex").slice(0, 16)}.sock`);
}
