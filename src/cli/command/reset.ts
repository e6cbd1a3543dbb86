import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { isRunning, readUpRecord } from "../../cluster/data-dir/up-record.ts";
import { unmergeAccess } from "../../cluster/merge-access.ts";
import { resetDataDir, whatIsThere } from "../../cluster/reset-data-dir.ts";
import { runningContainers } from "../../cluster/running-containers.ts";
import { systemClock } from "../../lib/clock.ts";
import { createLogger } from "../../lib/logger.ts";
import { dataDirOption } from "../data-dir-option.ts";
import { plural } from "../printer/plural.ts";
import { stopRunning } from "../stop-running.ts";
import { UsageError } from "../usage-error.ts";

const examples = `
Examples:
  kindling reset
  kindling reset --data-dir ./cluster --yes

Stops the cluster, ends its containers, undoes their mounts and their network, and removes objects, images,
volumes, certificates and what --merge-kubeconfig added. Other files in the directory stay.`;

export function configure(command: Command): void {
  command
    .addOption(dataDirOption())
    .option("-y, --yes", "do not ask", false)
    .addHelpText("after", examples)
    .action((flags: { dataDir: string; yes: boolean }) =>
      reset({ ...flags, dataDir: resolve(flags.dataDir) }),
    );
}

async function reset({ dataDir, yes }: { dataDir: string; yes: boolean }): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const there = await whatIsThere(dataDir);
  if (there === "missing") {
    say(`There is nothing in ${dataDir}.`);
    return;
  }
  if (there === "foreign") {
    throw new UsageError(`${dataDir} is not the data directory of a cluster: nothing was changed`);
  }
  const record = await readUpRecord(dataDir);
  if (record?.runtime.kind === "own" && process.getuid?.() !== 0) {
    throw new UsageError("its containers belong to root: run it with sudo");
  }
  if (!yes && !(await confirm(await question(dataDir)))) {
    throw new Error("nothing was changed");
  }
  if (isRunning(record)) await stopRunning(record);
  const logger = createLogger({ format: "text", level: "warn" });
  const { pods, kept } = await resetDataDir({ dataDir, record, logger });
  const ended = pods > 0 ? `Ended ${plural(pods, "pod")} and removed` : "Removed";
  if (kept.length === 0) say(`${ended} ${dataDir}.`);
  else say(`${ended} the cluster in ${dataDir}; other files there stay: ${kept.join(", ")}.`);
  // Last: somebody's broken file must not keep the rest.
  await unmergeAccess(record?.mergedInto ?? [], { dataDir, clock: systemClock });
}

async function question(dataDir: string): Promise<string> {
  const containers = (await runningContainers(dataDir)).length;
  const running = containers > 0 ? `, and ends ${plural(containers, "running container")}` : "";
  return `This removes the cluster in ${dataDir} with all its data${running}. Go on? [y/N] `;
}

async function confirm(text: string): Promise<boolean> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) {
    throw new UsageError("this removes data, and there is no terminal to ask on: say --yes");
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
