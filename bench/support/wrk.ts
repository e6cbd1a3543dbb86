import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface WrkRun {
  url: string;
  /** Lua script that defines `request`. Empty for plain GETs. */
  script?: string;
  seconds: number;
  connections: number;
  headers?: Record<string, string>;
}

export interface WrkResult {
  requestsPerSecond: number;
  /** Number of failed responses. */
  failures: number;
}

/** Runs wrk, a load generator that is faster than the servers it measures. */
export async function runWrk({
  url,
  script,
  seconds,
  connections,
  headers = {},
}: WrkRun): Promise<WrkResult> {
  const folder = await mkdtemp(join(tmpdir(), "kindling-wrk-"));
  const file = join(folder, "request.lua");
  await writeFile(file, script ?? "");
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", file];
  for (const [name, value] of Object.entries(headers)) args.push("-H", `${name}: ${value}`);
  const { stdout } = await promisify(execFile)("wrk", [...args, url]);
  return {
    requestsPerSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1] ?? Number.NaN),
    failures: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0),
  };
}
