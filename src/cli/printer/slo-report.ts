import type { SloView } from "../../monitor/feed/feed-message.ts";
import { formatTable } from "./table.ts";
import { painter, printable, type Tone } from "./terminal-text.ts";

/** Breaches by class, of one objective. */
const shownClasses = 3;

/** A row for each objective, and under those that were breached where the breaches come from. */
export function renderSloReport(slos: readonly SloView[], { color = false } = {}): string {
  if (slos.length === 0)
    return "This monitor has no objectives: write some into the file that it gets as --config.\n";
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
  return `${oneLine(name)}: breaches are mostly of\n${formatTable(["  CLASS", "BREACHES"], rows, { color })}`;
}

const tones: Readonly<Record<string, Tone>> = { breached: "red", "at risk": "yellow", met: "green" };

function statusOf({ total, budgetLeft, burnRate }: SloView): string {
  if (total === 0) return "no data";
  if (budgetLeft <= 0) return "breached";
  return burnRate > 1 ? "at risk" : "met";
}

/** Two digits behind the point are enough, but 99.996% is not 100%. */
function percent(share: number): string {
  const shown = Number((share * 100).toFixed(2));
  return shown === 100 && share < 1 ? "<100%" : `${shown}%`;
}

function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ");
}
