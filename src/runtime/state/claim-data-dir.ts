import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { createServer, type Server } from "node:net";

/**
 * One daemon per data directory. The claim is an abstract unix socket named for the directory: the kernel gives it to
 * one process at a time and takes it back with the process, however that ends. Nothing is left to be cleaned up.
 */
export interface DataDirClaim {
  release(): Promise<void>;
}

export async function claimDataDir(
  dataDir: string,
  part: "runtime" | "up" = "runtime",
): Promise<DataDirClaim> {
  const directory = await realpath(dataDir);
  const name = createHash("sha256").update(directory).digest("hex").slice(0, 32);
  const server = createServer((socket) => socket.destroy());
  await listen(server, `\0kindling-${part}-${name}`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new Error(
      `${directory} is in use by another kindling ${part}; stop it, or choose another --data-dir`,
    );
  });
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, exclusive: true }, resolve);
  });
}
