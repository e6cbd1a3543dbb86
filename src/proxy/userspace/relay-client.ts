import { type ChildProcessByStdio, spawn } from "node:child_process";
import { access } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Logger } from "../../lib/logger.ts";
import type { RelayListener, RelayResponse } from "./relay-message.ts";

/** Process that relays connections. */
export interface RelayClient {
  /** Opens, changes and closes listeners. Rejects if the process has ended. */
  apply(change: { readonly set: readonly RelayListener[]; readonly close: readonly string[] }): Promise<void>;
  readonly isRunning: boolean;
  close(): Promise<void>;
}

/** Small heaps: the relay holds little but the buffers of its connections. */
const frugal = ["--max-semi-space-size=1", "--max-old-space-size=128", "--v8-pool-size=0"];

export async function startRelay(options: {
  /** Path of the built relay program. Defaults to the one beside the command. */
  readonly program?: string;
  /** Subnets of the pods, which are served besides this machine. */
  readonly podSubnets: readonly string[];
  readonly logger: Logger;
  /** Called when the process has ended without being closed. */
  onLost(): void;
}): Promise<RelayClient> {
  const { podSubnets, logger, onLost } = options;
  const program = options.program ?? (await findProgram());
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    process.execPath,
    [...frugal, program, ...podSubnets],
    {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: process.env.PATH },
    },
  );
  const waiting = new Map<number, { resolve(): void; reject(error: Error): void }>();
  let last = 0;
  let state: "running" | "closing" | "ended" = "running";
  child.stdin.on("error", () => {});
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => {
      const isLost = state === "running";
      state = "ended";
      for (const { reject } of waiting.values()) reject(new Error("the relay of services has ended"));
      waiting.clear();
      resolve();
      if (isLost) onLost();
    });
  });
  child.once("error", (error) => logger.error("cannot start the relay of services", { error }));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, failures }: RelayResponse = JSON.parse(line);
    for (const failure of failures) logger.warn(failure);
    waiting.get(id)?.resolve();
    waiting.delete(id);
  });
  return {
    get isRunning() {
      return state === "running";
    },
    apply: (change) =>
      new Promise((resolve, reject) => {
        if (state !== "running") return reject(new Error("the relay of services has ended"));
        const id = ++last;
        waiting.set(id, { resolve, reject });
        child.stdin.write(`${JSON.stringify({ id, ...change })}\n`);
      }),
    async close() {
      if (state === "running") state = "closing";
      child.stdin.end();
      await ended;
    },
  };
}

/** Finds the relay program. The bundle puts entry points in one directory and shared chunks in another below it. */
async function findProgram(): Promise<string> {
  for (const name of ["./relay-process.js", "../relay-process.js"]) {
    const candidate = fileURLToPath(new URL(name, import.meta.url));
    const found = await access(candidate).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  throw new Error("relay-process.js is not beside the command; run npm run build");
}
