import type { Command } from "commander";
import type { SloView } from "../../monitor/feed/feed-message.ts";
import { fetchSloReport } from "../../monitor/report/slo-report.ts";
import { readGivenFile, UsageError } from "../options/command-errors.ts";
import { outputOption } from "../options/common-options.ts";
import { formatTable, painter, printable, type Tone, wantsColor } from "../printer/terminal-text.ts";
import { untilStopped } from "../run/until-stopped.ts";

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

To trust a certificate that no public CA signed, set NODE_EXTRA_CA_CERTS to its file.`;

/** `kindling monitor report` */
export function configureReport(command: Command): void {
  command
    .description("print the state of the objectives of a running monitor")
    .option("--monitor <url>", "URL of the monitor", "http://127.0.0.1:9085")
    .option("--token-file <file>", "file with a bearer token; not needed for monitors on loopback")
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

/** Maximum number of classes to show per objective. */
const shownClasses = 3;

/** Renders a row for each objective, and the classes with the most breaches. */
export function renderSloReport(slos: readonly SloView[], { color = false } = {}): string {
  if (slos.length === 0)
    return "The monitor has no objectives; define some in the file of kindling monitor --config.\n";
  const paint = painter(color);
  const rows = slos.map((slo) => [
    slo.name,
    statusOf(slo),
    slo.total === 0 ? "-" : percent(slo.good / slo.total),
    percent(slo.target),
    percent(slo.budgetLeft),
    `${Number(slo.burnRate.toFixed(2))}x`,
    `${slo.total - slo.good}/${slo.total}`,
    slo.objective,
  ]);
  const table = formatTable(
    ["NAME", "STATUS", "GOOD", "TARGET", "BUDGET LEFT", "BURN RATE", "BREACHES", "OBJECTIVE"],
    rows.map((row) =>
      row.map(oneLine).map((cell, i) => (i === 1 ? paint(tones[cell] ?? "dim", cell) : cell)),
    ),
    { color },
  );
  return [
    table,
    ...slos.filter(({ breaches }) => breaches.length > 0).map((slo) => renderBreaches(slo, color)),
  ].join("\n");
}

function renderBreaches({ name, breaches }: SloView, color: boolean): string {
  const rows = breaches
    .slice(0, shownClasses)
    .map(({ class: podClass, bad, total }) => [`  ${oneLine(podClass)}`, `${bad} of ${total}`]);
  return `${oneLine(name)}: classes with the most breaches\n${formatTable(["  CLASS", "BREACHES"], rows, { color })}`;
}

const tones: Readonly<Record<string, Tone>> = { breached: "red", "at risk": "yellow", met: "green" };

function statusOf({ total, budgetLeft, burnRate }: SloView): string {
  if (total === 0) return "no data";
  if (budgetLeft <= 0) return "breached";
  return burnRate > 1 ? "at risk" : "met";
}

/** Formats a percentage with up to two decimals. 99.996% is shown as <100%. */
function percent(share: number): string {
  const shown = Number((share * 100).toFixed(2));
  return shown === 100 && share < 1 ? "<100%" : `${shown}%`;
}

function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ");
}
