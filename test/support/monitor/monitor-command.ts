import { mkdir, writeFile } from "node:fs/promises";
import { afterEach, expect } from "vitest";
import { type KindlingRun, runKindling } from "../programs/run-kindling.ts";

export interface MonitorCommand {
  readonly run: KindlingRun;
  /** The sum over all series of this name that have these labels. */
  count(name: string, labels?: string): Promise<number>;
  /** What is held against the cluster. */
  verdicts(): Promise<{ readonly stuck: number; readonly abandoned: number; readonly bad: number }>;
}

interface MonitorCommandOptions {
  readonly kubeconfig: string;
  /** Where it keeps its data and its configuration file. */
  readonly folder: string;
  readonly configuration: string;
}

/** Starts `kindling monitor` in processes that end with the test; resolves once it has looked at all pods. */
export function useMonitorCommand(): (options: MonitorCommandOptions) => Promise<MonitorCommand> {
  const runs: KindlingRun[] = [];
  afterEach(() => {
    for (const { child } of runs.splice(0)) child.kill("SIGKILL");
  });

  return async ({ kubeconfig, folder, configuration }) => {
    const config = `${folder}/monitor.yaml`;
    await mkdir(folder, { recursive: true });
    await writeFile(config, configuration);
    const files = ["--kubeconfig", kubeconfig, "--config", config, "--data-dir", `${folder}/monitor`];
    const run = await runKindling(["monitor", ...files, "--listen", "127.0.0.1:0"]);
    runs.push(run);
    await expect.poll(() => run.output.stderr).toContain("watching how pods start");
    const url = /metrics: (\S+)/.exec(run.output.stdout)?.[1] ?? "";
    async function count(name: string, labels = ""): Promise<number> {
      const lines = (await (await fetch(url)).text()).split("\n");
      const found = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
      return found.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    }
    return {
      run,
      count,
      verdicts: async () => ({
        stuck: await count("kindling_pods_stuck_total"),
        abandoned: await count("kindling_pod_starts_abandoned_total"),
        bad: await count("kindling_slo_events_total", 'result="bad"'),
      }),
    };
  };
}
