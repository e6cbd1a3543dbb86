import { resolve } from "node:path";
import type { Command } from "commander";
import { isRunning, readUpRecord } from "../../cluster/data-dir/data-dir-files.ts";
import { endContainers } from "../../cluster/host/end-containers.ts";
import { runningContainers } from "../../cluster/host/running-containers.ts";
import { whatIsThere } from "../../cluster/lifecycle/reset-data-dir.ts";
import { createLogger } from "../../lib/logger.ts";
import { dataDirOption } from "../options/common-options.ts";
import { plural } from "../printer/terminal-text.ts";
import { stopRunning } from "../run/stop-running.ts";

const examples = `
Examples:
  kindling down
  kindling down --data-dir ./cluster
  kindling down --containers

The exit code is 0 also when the cluster was already stopped.`;

export function configure(command: Command): void {
  command
    .addOption(dataDirOption())
    .option("--containers", "also stop its containers, which otherwise keep running", false)
    .addHelpText("after", examples)
    .action((flags: { dataDir: string; containers: boolean }) =>
      stop({ ...flags, dataDir: resolve(flags.dataDir) }),
    );
}

async function stop({ dataDir, containers }: { dataDir: string; containers: boolean }): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  if ((await whatIsThere(dataDir)) !== "cluster") {
    print(`There is no cluster in ${dataDir}.`);
    return;
  }
  const record = await readUpRecord(dataDir);
  if (isRunning(record)) {
    await stopRunning(record);
    print(`Stopped the cluster in ${dataDir} (pid ${record.process.pid}).`);
  } else {
    print(`The cluster in ${dataDir} is not running.`);
  }
  if (containers) {
    const logger = createLogger({ format: "text", level: "warn" });
    const ended = await endContainers({ dataDir, record, logger });
    print(ended === 0 ? "No pods were running." : `Stopped ${plural(ended, "pod")}.`);
    return;
  }
  const left = (await runningContainers(dataDir)).length;
  if (left > 0)
    print(
      `${plural(left, "container")} ${left === 1 ? "keeps" : "keep"} running; to stop ${left === 1 ? "it" : "them"}: kindling down --containers`,
    );
}
