import { lstat, opendir } from "node:fs/promises";

export interface DiskUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** What a tree takes on disk; what vanishes meanwhile does not count. Other file systems mounted below do not either. */
export async function diskUsage(directory: string): Promise<DiskUsage> {
  const seen = new Set<number>();
  let usedBytes = 0;

  async function visit(path: Buffer, device: number): Promise<void> {
    const found = await lstat(path).catch(() => undefined);
    if (!found || found.dev !== device || seen.has(found.ino)) return;
    seen.add(found.ino);
    usedBytes += found.blocks * 512;
    if (!found.isDirectory()) return;
    // One character per byte: names need not be UTF-8.
    const entries = await opendir(path, { encoding: "latin1" }).catch(() => undefined);
    if (!entries) return;
    for await (const { name } of entries)
      await visit(Buffer.concat([path, Buffer.from(`/${name}`, "latin1")]), device);
  }

  const root = await lstat(directory).catch(() => undefined);
  if (root) await visit(Buffer.from(directory), root.dev);
  return { usedBytes, inodesUsed: seen.size };
}
