import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Exclusive claim of a data directory. It is an abstract unix socket named after the directory: the kernel gives it to
 * one process at a time and releases it when the process ends, so nothing has to be cleaned up.
 */
export interface DataDirClaim {
  release(): Promise<void>;
}

/** Time to wait for another process. On a busy machine a killed process may take a moment to exit. */
const timeoutMs = 1_000;

export async function claimDataDir(
  dataDir: string,
  part: "runtime" | "up" = "runtime",
): Promise<DataDirClaim> {
  const directory = await realpath(dataDir);
  const name = createHash("sha256").update(directory).digest("hex").slice(0, 32);
  const path = `\0kindling-${part}-${name}`;
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const claim = await tryToClaim(path);
    if (claim) return claim;
    if (Date.now() >= deadline)
      throw new Error(
        `${directory} is in use by another kindling ${part}; stop it, or choose another --data-dir`,
      );
    await delay(20);
  }
}

function tryToClaim(path: string): Promise<DataDirClaim | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.listen({ path, exclusive: true }, () => {
      server.unref();
      resolve({ release: () => new Promise((released) => server.close(() => released())) });
    });
  });
}
