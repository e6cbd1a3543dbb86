import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/**
 * One daemon per data directory. The claim is an abstract unix socket named for the directory: the kernel gives it to
 * one process at a time and takes it back with the process, however that ends. Nothing is left to be cleaned up.
 */
export interface DataDirClaim {
  release(): Promise<void>;
}

/** On a busy machine a killed process takes a moment to be gone, and whoever killed it may not have waited for that. */
const patienceMs = 1_000;

export async function claimDataDir(
  dataDir: string,
  part: "runtime" | "up" = "runtime",
): Promise<DataDirClaim> {
  const directory = await realpath(dataDir);
  const name = createHash("sha256").update(directory).digest("hex").slice(0, 32);
  const path = `\0kindling-${part}-${name}`;
  const giveUpAt = Date.now() + patienceMs;
  for (;;) {
    const claim = await tryToClaim(path);
    if (claim) return claim;
    if (Date.now() >= giveUpAt)
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
