import { resolve } from "node:path";
import type { Command } from "commander";
import { isRunning, readUpRecord } from "../../cluster/data-dir/up-record.ts";
import { endContainers } from "../../cluster/end-containers.ts";
import { whatIsThere } from "../../cluster/reset-data-dir.ts";
import { runningContainers } from "../../cluster/running-containers.ts";
import { createLogger } from "../../lib/logger.ts";
import { dataDirOption } from "../data-dir-option.ts";
import { plural } from "../printer/plural.ts";
import { stopRunning } from "../stop-running.ts";

const examples = `
Examples:
  kindling down
  kindling down --data-dir ./cluster
  kindling down --containers

What was stopped already is fine too: the exit code is 0.`;

export function configure(command: Command): void {
  command
    .addOption(dataDirOption())
    .option("--containers", "end its containers too, which otherwise go on running", false)
    .addHelpText("after", examples)
    .action((flags: { dataDir: string; containers: boolean }) =>
      stop({ ...flags, dataDir: resolve(flags.dataDir) }),
    );
}

async function stop({ dataDir, containers }: { dataDir: string; containers: boolean }): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  if ((await whatIsThere(dataDir)) !== "cluster") {
    say(`There is no cluster in ${dataDir}.`);
    return;
  }
  const record = await readUpRecord(dataDir);
  if (isRunning(record)) {
    await stopRunning(record);
    say(`Stopped the cluster in ${dataDir} (pid ${record.process.pid}).`);
  } else {
    say(`The cluster in ${dataDir} does not run.`);
  }
  if (containers) {
    const logger = createLogger({ format: "text", level: "warn" });
    const ended = await endContainers({ dataDir, record, logger });
    say(ended === 0 ? "No pods were left." : `Ended ${plural(ended, "pod")}.`);
    return;
  }
  const left = (await runningContainers(dataDir)).length;
  if (left > 0)
    say(
      `${plural(left, "container")} ${left === 1 ? "goes" : "go"} on running; kindling down --containers ends ${left === 1 ? "it" : "them"}.`,
    );
}
