import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { isRunning, readUpRecord } from "../../cluster/data-dir/data-dir-files.ts";
import { runningContainers } from "../../cluster/host/running-containers.ts";
import { resetDataDir, whatIsThere } from "../../cluster/lifecycle/reset-data-dir.ts";
import { unmergeAccess } from "../../cluster/parts/merge-access.ts";
import { systemClock } from "../../lib/clock.ts";
import { createLogger } from "../../lib/logger.ts";
import { UsageError } from "../options/command-errors.ts";
import { dataDirOption } from "../options/common-options.ts";
import { plural } from "../printer/terminal-text.ts";
import { stopRunning } from "../run/stop-running.ts";

const examples = `
Examples:
  kindling reset
  kindling reset --data-dir ./cluster --yes

Stops the cluster and its containers, removes their mounts and networks, and deletes objects, images, volumes,
certificates and the entries that --merge-kubeconfig added. Other files in the directory are kept.`;

export function configure(command: Command): void {
  command
    .addOption(dataDirOption())
    .option("-y, --yes", "do not ask for confirmation", false)
    .addHelpText("after", examples)
    .action((flags: { dataDir: string; yes: boolean }) =>
      reset({ ...flags, dataDir: resolve(flags.dataDir) }),
    );
}

async function reset({ dataDir, yes }: { dataDir: string; yes: boolean }): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const there = await whatIsThere(dataDir);
  if (there === "missing") {
    print(`There is nothing in ${dataDir}.`);
    return;
  }
  if (there === "foreign") {
    throw new UsageError(`${dataDir} is not the data directory of a cluster: nothing was changed`);
  }
  const record = await readUpRecord(dataDir);
  if (record?.runtime.kind === "own" && process.getuid?.() !== 0) {
    throw new UsageError("the cluster has containers, which belong to root: run kindling reset with sudo");
  }
  if (!yes && !(await confirm(await question(dataDir)))) {
    throw new Error("nothing was changed");
  }
  if (isRunning(record)) await stopRunning(record);
  const logger = createLogger({ format: "text", level: "warn" });
  const { pods, kept } = await resetDataDir({ dataDir, record, logger });
  const ended = pods > 0 ? `Stopped ${plural(pods, "pod")} and removed` : "Removed";
  if (kept.length === 0) print(`${ended} ${dataDir}.`);
  else print(`${ended} the cluster in ${dataDir}; other files are kept: ${kept.join(", ")}.`);
  // Last, so that an invalid kubeconfig does not prevent the rest.
  await unmergeAccess(record?.mergedInto ?? [], { dataDir, clock: systemClock });
}

async function question(dataDir: string): Promise<string> {
  const containers = (await runningContainers(dataDir)).length;
  const running = containers > 0 ? `, and stops ${plural(containers, "running container")}` : "";
  return `This removes the cluster in ${dataDir} with all its data${running}. Continue? [y/N] `;
}

async function confirm(text: string): Promise<boolean> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new UsageError("this removes data and there is no terminal to ask for confirmation: add --yes");
  }
  const terminal = createInterface({ input: stdin, output: stdout });
  // Ctrl-C and Ctrl-D mean no.
  const closed = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  terminal.once("SIGINT", () => terminal.close());
  try {
    return /^y(es)?$/i.test((await Promise.race([terminal.question(text), closed])).trim());
  } finally {
    terminal.close();
  }
}
