import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type CriClient, connectCri } from "../../src/cri/cri-client.ts";
import { startContainerd as startOwnContainerd } from "../../test/support/cri/containerd.ts";
import { toolPath } from "../../test/support/programs/tools.ts";

/** Separate CRI runtime with its own directories and imported images. */
export interface CriContestant {
  readonly client: CriClient;
  readonly endpoint: string;
  /** Text that occurs in the command lines of its processes. */
  readonly folder: string;
  stop(): Promise<void>;
}

export async function startKindling(
  folder: string,
  archives: readonly string[],
  options: { network?: string; program?: string } = {},
): Promise<CriContestant> {
  mkdirSync(folder, { recursive: true });
  const program = resolve(options.program ?? "dist/kindling.js");
  const dataDir = ["--data-dir", join(folder, "data")];
  for (const archive of archives)
    execFileSync(process.execPath, [program, "runtime", ...dataDir, "import", archive], { stdio: "ignore" });
  const endpoint = `unix://${join(folder, "cri.sock")}`;
  const network = options.network ? ["--network", options.network] : [];
  const child = spawn(
    process.execPath,
    [program, "runtime", ...dataDir, "--listen", endpoint, ...network, "--log-level", "warn"],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  return contestant(folder, endpoint, child);
}

export async function startContainerd(
  folder: string,
  archives: readonly string[],
  tool: "containerd" | "containerd-2" = "containerd",
): Promise<CriContestant> {
  return startOwnContainerd({ program: toolPath(tool), folder, archives });
}

async function contestant(folder: string, endpoint: string, child: ChildProcess): Promise<CriContestant> {
  const client = connectCri(endpoint);
  for (let attempt = 0; ; attempt++) {
    const answer = await client.runtime.version({ version: "" }, { timeoutMs: 2_000 }).catch(() => undefined);
    if (answer) break;
    if (attempt > 100 || child.exitCode !== null) throw new Error(`${folder}: the runtime does not respond`);
    await delay(100);
  }
  return {
    client,
    endpoint,
    folder,
    async stop() {
      const { items } = await client.runtime.listPodSandbox({ filter: undefined });
      for (const { id } of items) {
        await client.runtime.stopPodSandbox({ podSandboxId: id });
        await client.runtime.removePodSandbox({ podSandboxId: id });
      }
      client.close();
      child.kill("SIGTERM");
      await new Promise((done) => child.once("exit", done));
    },
  };
}
