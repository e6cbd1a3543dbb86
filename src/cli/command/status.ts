import { resolve } from "node:path";
import type { Command } from "commander";
import { clusterStatus } from "../../cluster/cluster-status.ts";
import { dataDirOption } from "../data-dir-option.ts";
import { outputOption } from "../output-option.ts";
import { renderStatus, statusJson } from "../printer/status-screen.ts";
import { wantsColor } from "../printer/terminal-text.ts";
import { ToldError } from "../told-error.ts";

const examples = `
Examples:
  kindling status
  kindling status --data-dir ./cluster -o json

The exit code is 0 for a cluster that runs and 1 for one that does not.`;

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
  if (status.state !== "running" || status.problem !== undefined) throw new ToldError();
}
