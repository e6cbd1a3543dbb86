import { randomBytes } from "node:crypto";
import { closeSync, openSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../store-error.ts";

/**
 * One process at a time in a directory. The claim is a unix socket in it that its process listens on: whoever
 * can connect to it knows the owner to live, and the kernel ends it with its process, however that ends. Unlike
 * a pid in a file it cannot be mistaken after pid reuse, a reboot, or from within another container.
 *
 * Everyone first listens under a name of their own and then looks for others, so that of two who come at
 * the same time at least one sees the other.
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
  // The address of a socket holds 107 bytes; where the path is longer, the open directory stands for it.
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
      // Two who saw each other have both withdrawn: the wait decides who is first to come back.
      await delay(20 + Math.random() * 100);
    }
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

/** The pid of another process that has claimed the directory. What dead processes left is removed on the way. */
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

/** Also removes the socket from the directory. */
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
    // Refused or gone: nobody listens. Anything else (no permission, a full backlog) leaves it possible.
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
