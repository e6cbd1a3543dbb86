import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { costOf, type ProcessCost } from "./child-process.ts";

export interface ChildServer extends ProcessCost {
  readonly url: string;
  /** Time from launch to the line with its address. */
  readonly startMs: number;
  stop(): Promise<void>;
}

/** Starts `node FILE ARGS` and waits for a line with its https address. */
export async function startChildServer(file: string, args: readonly string[]): Promise<ChildServer> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await firstAddress(child);
  return {
    url,
    startMs: performance.now() - startedAt,
    ...costOf(child.pid ?? 0),
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill("SIGTERM");
      }),
  };
}

function firstAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return reject(new Error("no standard output"));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = /https:\/\/\S+/.exec(line)?.[0];
      if (found) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
