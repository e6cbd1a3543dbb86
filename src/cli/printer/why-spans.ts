import { humanDuration } from "../../lib/human-duration.ts";
import type { Span } from "../../monitor/explain/waterfall.ts";
import { columnsOf, painter, printable, type ScreenOptions } from "./terminal-text.ts";

/** A bar for each stretch, on one scale. */
export function renderSpans(
  spans: readonly Span[],
  now: number,
  { columns, color }: ScreenOptions,
): string[] {
  const [first] = spans;
  if (!first) return [];
  const paint = painter(color);
  const stopOf = ({ startMs, endMs }: Span) => endMs ?? Math.max(now, startMs);
  const totalMs = Math.max(Math.max(...spans.map(stopOf)) - first.startMs, 1);
  const names = spans.map(({ name }) => printable(name));
  const nameWidth = Math.max(...names.map(columnsOf));
  const barWidth = Math.max(6, Math.min(40, columns - nameWidth - 14));
  const columnOf = (ms: number) => Math.round(((ms - first.startMs) / totalMs) * barWidth);
  return spans.map((span, i) => {
    const goesOn = span.endMs === undefined;
    const from = Math.min(columnOf(span.startMs), barWidth - 1);
    const to = Math.max(columnOf(stopOf(span)), from + 1);
    const bar = paint(goesOn ? "yellow" : "cyan", (goesOn ? "▒" : "█").repeat(to - from));
    const name = (names[i] ?? "") + " ".repeat(nameWidth - columnsOf(names[i] ?? ""));
    const took = `${seconds(stopOf(span) - span.startMs)}${goesOn ? " …" : ""}`;
    return `  ${name}  ${" ".repeat(from)}${bar}${" ".repeat(barWidth - to)}  ${took}`;
  });
}

/** Most clusters tell times in whole seconds; a fraction is shown where one is known. */
function seconds(ms: number): string {
  if (ms >= 120_000) return humanDuration(ms);
  return `${ms % 1_000 === 0 ? ms / 1_000 : (ms / 1_000).toFixed(1)} s`;
}
