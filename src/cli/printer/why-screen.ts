import type { Pod } from "../../api/objects.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import type { Explanation } from "../../monitor/explain/explanation.ts";
import type { Span } from "../../monitor/explain/waterfall.ts";

export interface WhyView {
  readonly pod: Pod;
  readonly explanation: Explanation;
  readonly spans: readonly Span[];
  readonly now: number;
}

export interface ScreenOptions {
  readonly columns: number;
  readonly color: boolean;
}

/** One screen: where the pod is and why, then how long each part of its way took. */
export function renderWhy({ pod, explanation, spans, now }: WhyView, options: ScreenOptions): string {
  const { namespace, name } = pod.metadata;
  const { stage, since, because, healsByItself, fix } = explanation;
  const paint = painter(options.color);
  const age = since ? ` for ${humanDuration(now - Date.parse(since))}` : "";
  const tone = stage === "ready" ? "green" : healsByItself ? "yellow" : "red";
  const lines = [
    `${paint("bold", `${namespace}/${name}`)}  ${paint(tone, stage)}${stage === "ended" ? "" : age}`,
    "",
    ...wrap(because, options.columns - 2).map((line) => `  ${line}`),
  ];
  if (stage !== "ready" && stage !== "ended") {
    lines.push(
      "",
      healsByItself ? "  It may heal by itself." : paint("red", "  It does not heal by itself."),
    );
  }
  if (fix) lines.push("", ...wrap(`To do: ${fix}`, options.columns - 2).map((line) => `  ${line}`));
  return `${[...lines, "", ...renderSpans(spans, now, options)].join("\n")}\n`;
}

/** A bar for each stretch, on one scale. */
function renderSpans(spans: readonly Span[], now: number, { columns, color }: ScreenOptions): string[] {
  const [first] = spans;
  if (!first) return [];
  const paint = painter(color);
  const end = Math.max(...spans.map(({ startMs, endMs }) => endMs ?? Math.max(now, startMs)));
  const total = Math.max(end - first.startMs, 1);
  const nameWidth = Math.max(...spans.map(({ name }) => name.length));
  const barWidth = Math.max(10, Math.min(40, columns - nameWidth - 14));
  return spans.map(({ name, startMs, endMs }) => {
    const stop = endMs ?? Math.max(now, startMs);
    const from = Math.round(((startMs - first.startMs) / total) * barWidth);
    const to = Math.max(
      Math.round(((stop - first.startMs) / total) * barWidth),
      Math.min(from + 1, barWidth),
    );
    const bar = (endMs === undefined ? "▒" : "█").repeat(Math.max(to - from, 1));
    const took = `${((stop - startMs) / 1_000).toFixed(0)} s${endMs === undefined ? " …" : ""}`;
    const place = `${" ".repeat(Math.min(from, barWidth - 1))}${paint(endMs === undefined ? "yellow" : "cyan", bar)}`;
    return `  ${name.padEnd(nameWidth)}  ${place}${" ".repeat(Math.max(0, barWidth - to))}  ${took}`;
  });
}

const codes = { bold: 1, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

function painter(color: boolean) {
  return (tone: keyof typeof codes, text: string) => (color ? `\x1b[${codes[tone]}m${text}\x1b[0m` : text);
}

/** At spaces; a word that is longer than a line has one of its own. Control characters of a pod's own are left out. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of printable(text).split(/\s+/)) {
    if (line && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  return line ? [...lines, line] : lines;
}

/** What a pod says must not move the cursor or change colours on somebody's terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
