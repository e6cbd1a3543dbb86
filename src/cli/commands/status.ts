import { resolve } from "node:path";
import type { Command } from "commander";
import { clusterStatus } from "../../cluster/lifecycle/cluster-status.ts";
import { AlreadyReportedError } from "../options/command-errors.ts";
import { dataDirOption, outputOption } from "../options/common-options.ts";
import { renderStatus, statusJson } from "../printer/status-screen.ts";
import { wantsColor } from "../printer/terminal-text.ts";

const examples = `
Examples:
  kindling status
  kindling status --data-dir ./cluster -o json

The exit code is 0 if the cluster is running and 1 if it is not.`;

interface StatusFlags {
  dataDir: string;
  output: "table" | "json";
}

export function configure(command: Command): void {
  command.addOption(dataDirOption()).addOption(outputOption()).addHelpText("after", examples).action(show);
}

async function show({ dataDir, output }: StatusFlags): Promise<void> {
  const { stdout } = process;
  const status = await clusterStatus(resolve(dataDir));
  stdout.write(
    output === "json"
      ? `${JSON.stringify(statusJson(status), null, 2)}\n`
      : renderStatus(status, {
          color: wantsColor(stdout),
          now: Date.now(),
          isRoot: process.getuid?.() === 0,
        }),
  );
  if (status.state !== "running" || status.problem !== undefined) throw new AlreadyReportedError();
}
