import type { Command } from "commander";
import { fetchSloReport } from "../../monitor/report/slo-report.ts";
import { outputOption } from "../output-option.ts";
import { renderSloReport } from "../printer/slo-report.ts";
import { wantsColor } from "../printer/terminal-text.ts";
import { readGivenFile } from "../read-given-file.ts";
import { untilStopped } from "../until-stopped.ts";
import { UsageError } from "../usage-error.ts";

interface ReportFlags {
  monitor: string;
  tokenFile?: string;
  output: "table" | "json";
}

const examples = `
Examples:
  kindling monitor report
  kindling monitor report --monitor https://monitor.example.com --token-file token
  kindling monitor report -o json

A certificate that no public authority signed is trusted if NODE_EXTRA_CA_CERTS names its file.`;

/** `kindling monitor report` */
export function configureReport(command: Command): void {
  command
    .description("print how a running monitor's objectives are met")
    .option("--monitor <url>", "where the monitor listens", "http://127.0.0.1:9085")
    .option("--token-file <file>", "a bearer token for it; monitors on loopback need none")
    .addOption(outputOption())
    .addHelpText("after", examples)
    .action(runReport);
}

async function runReport({ monitor, tokenFile, output }: ReportFlags): Promise<void> {
  if (!/^https?:$/.test(URL.canParse(monitor) ? new URL(monitor).protocol : ""))
    throw new UsageError(`--monitor: ${JSON.stringify(monitor)} is not a URL; write http://HOST:PORT`);
  const token = (await readGivenFile("--token-file", tokenFile))?.toString().trim();
  await untilStopped(async (signal) => {
    const report = await fetchSloReport({ url: monitor, token, signal });
    process.stdout.write(
      output === "json"
        ? `${JSON.stringify(report, null, 2)}\n`
        : renderSloReport(report, { color: wantsColor(process.stdout) }),
    );
  });
}
