import type { Explanation } from "../../explain/explanation.ts";
import {
  ageOf,
  columnsOf,
  cutTo,
  formatTable,
  painter,
  plural,
  printable,
  type ScreenOptions,
} from "./terminal-text.ts";
import { explanationJson } from "./why-screen.ts";

/** Pods that are not ready, one line each. */
export interface WhyList {
  readonly rows: readonly ListRow[];
  /** Number of selected pods, ready or not. */
  readonly total: number;
  /** What was selected: `in the namespace shop`. */
  readonly where: string;
  /** What the caller may not read. */
  readonly unreadable: readonly string[];
  readonly now: number;
}

interface ListRow {
  readonly namespace: string;
  readonly name: string;
  readonly explanation: Explanation;
}

const header = ["NAMESPACE", "POD", "STAGE", "SINCE", "CAUSE"];
const gap = 3;

/** Renders a table of pods. On a terminal the cause is cut to the width of the screen. */
export function renderWhyList(
  { rows, total, where, unreadable, now }: WhyList,
  { columns, color, isTerminal }: ScreenOptions & { readonly isTerminal: boolean },
): string[] {
  const note =
    unreadable.length > 0
      ? [`You are not allowed to read ${unreadable.join(" and ")}; causes may lack what they show.`]
      : [];
  if (rows.length === 0) {
    const text =
      total === 0
        ? `There are no pods ${where}.`
        : `All ${plural(total, "pod")} ${where} are ready or have completed.`;
    return [text.replace(/^All 1 pod (.*) are ready or have/, "The only pod $1 is ready or has"), ...note];
  }
  const paint = painter(color);
  const cells = rows.map(({ namespace, name, explanation: { stage, since, isTransient, because } }) => ({
    start: [namespace, name, stage, since ? ageOf(since, now) : ""].map(printable),
    tone: isTransient ? ("yellow" as const) : ("red" as const),
    cause: printable(because.replaceAll(/\s+/g, " ")),
  }));
  const widths = [0, 1, 2, 3].map((column) =>
    Math.max(...[header, ...cells.map(({ start }) => start)].map((row) => columnsOf(row[column] ?? ""))),
  );
  const used = widths.reduce((sum, width) => sum + width + gap, 0);
  const room = isTerminal ? Math.max(20, columns - used - 1) : Number.POSITIVE_INFINITY;
  const table = formatTable(
    header,
    cells.map(({ start: [namespace = "", name = "", stage = "", since = ""], tone, cause }) => [
      namespace,
      name,
      paint(tone, stage),
      since,
      cutTo(cause, room),
    ]),
    { color },
  );
  return [...table.trimEnd().split("\n"), ...(note.length > 0 ? ["", ...note] : [])];
}

/** One line of JSON with all pods that are not ready. */
export function formatListJson({ rows, total, unreadable }: WhyList): string {
  const pods = rows.map(({ namespace, name, explanation }) => ({
    kind: "Pod",
    namespace,
    name,
    ...explanationJson(explanation),
  }));
  return `${JSON.stringify({ kind: "List", total, pods, ...(unreadable.length > 0 && { unreadable }) })}\n`;
}
