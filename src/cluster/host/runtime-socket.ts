import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Socket of a node's runtime. The kernel limits socket paths to 107 bytes. */
export function runtimeSocket(nodeDir: string): string {
  const path = join(nodeDir, "runtime.sock");
  if (Buffer.byteLength(path) <= 107) return path;
  return join(tmpdir(), `kindling-${createHash("sha256").update(nodeDir).digest("hex").slice(0, 16)}.sock`);
}
