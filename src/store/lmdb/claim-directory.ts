import { randomBytes } from "node:crypto";
import { closeSync, openSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../store.ts";

/**
 * Exclusive use of a directory by one process. The claim is a unix socket in the directory on which its owner listens: a
 * successful connection proves that the owner is alive, and the kernel closes the socket when the process ends. Unlike a
 * pid file, it is reliable after pid reuse, a reboot, and from within another container.
 *
 * A process first listens under a unique name and then looks for others, so that of two concurrent processes at least one
 * sees the other.
 */
export interface DirectoryClaim {
  release(): Promise<void>;
}

const attempts = 3;
const claimName = /^owner-(\d+)-[0-9a-f]+\.sock$/;

export function isClaimFile(name: string): boolean {
  return claimName.test(name);
}

export async function claimDirectory(directory: string): Promise<DirectoryClaim> {
  const handle = openSync(directory, "r");
  // A socket address is limited to 107 bytes; for longer paths the open directory is used.
  const path = (name: string) =>
    Buffer.byteLength(directory) < 64 ? join(directory, name) : `/proc/self/fd/${handle}/${name}`;
  try {
    for (let attempt = 1; ; attempt++) {
      const name = `owner-${process.pid}-${randomBytes(6).toString("hex")}.sock`;
      const server = await listen(path(name));
      const other = await findOther(directory, { own: name, path }).catch(async (error: unknown) => {
        await close(server);
        throw error;
      });
      if (other === undefined) {
        return {
          async release() {
            await close(server);
            closeSync(handle);
          },
        };
      }
      await close(server);
      if (attempt === attempts) throw inUse(directory, other);
      // Two processes that saw each other have both withdrawn; the random delay decides which one retries first.
      await delay(20 + Math.random() * 100);
    }
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

/** Returns the pid of another process that has claimed the directory. Removes the sockets of dead processes. */
async function findOther(
  directory: string,
  { own, path }: { own: string; path(name: string): string },
): Promise<number | undefined> {
  for (const name of readdirSync(directory)) {
    const pid = claimName.exec(name)?.[1];
    if (pid === undefined || name === own) continue;
    if (await isAlive(path(name))) return Number(pid);
    rmSync(join(directory, name), { force: true });
  }
  return undefined;
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen({ path, exclusive: true }, () => resolve(server.unref()));
  });
}

/** Closing also removes the socket from the directory. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    // Refused or missing: no listener. Other errors (no permission, a full backlog) do not exclude one.
    socket.once("error", (error: NodeJS.ErrnoException) => {
      resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT");
    });
  });
}

function inUse(directory: string, pid: number): StoreError {
  const owner = pid === process.pid ? `this process (pid ${pid})` : `the process with pid ${pid}`;
  return new StoreError(
    "inUse",
    `${directory} is in use by ${owner}; stop it first, or choose another directory`,
  );
}
