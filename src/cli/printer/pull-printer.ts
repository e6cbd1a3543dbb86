// Clauses: 3542-8
import type { Clock } from "../../lib/clock.ts";
import { formatBytes } from "../../lib/format-bytes.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import type { LayerProgress, PullProgress } from "../../lib/image/pull-progress.ts";
import { createRedraw, type Output } from "./terminal-text.ts";

/** Printer for the progress of a pull. */
export interface PullPrinter {
  report(progress: PullProgress, imageRef: string): void;
  /** Called when the pull has ended, with the image reference on success. */
  end(imageRef: string | undefined): void;
}

export function choosePullPrinter(options: {
  readonly image: string;
  readonly output: Output;
  readonly format: "table" | "json";
  readonly clock: Clock;
}): PullPrinter {
  if (options.format === "json") return jsonPrinter(options.output);
  return options.output.isTTY ? terminalPrinter(options) : linePrinter(options);
}

const unknownProgress: PullProgress = { offset: 0, total: 0, layers: [] };

/** Prints each report. The last one has the image reference; a runtime without progress sends no report. */
function jsonPrinter(output: Output): PullPrinter {
  let last = "";
  return {
    report(progress, imageRef) {
      output.write(formatPullJson(progress, imageRef));
      last = imageRef;
    },
    end(imageRef) {
      if (imageRef && imageRef !== last) output.write(formatPullJson(unknownProgress, imageRef));
    },
  };
}

/** Prints a line when the progress has changed. */
function linePrinter({ image, output }: { image: string; output: Output }): PullPrinter {
  let last = "";
  return {
    report(progress) {
      const line = formatPullLine(image, progress);
      if (line !== last) output.write(line);
      last = line;
    },
    end: (imageRef) => void (imageRef && output.write(`${imageRef}\n`)),
  };
}

/** Redraws the progress in place. */
function terminalPrinter({ output, clock }: { output: Output; clock: Clock }): PullPrinter {
  const screen = createRedraw(output);
  let samples: readonly Sample[] = [];
  return {
    report(progress) {
      samples = addSample(samples, { at: clock.now(), bytes: progress.offset });
      const size = { columns: output.columns || 80, rows: output.rows || 24 };
      screen.draw(renderPull(progress, { bytesPerSecond: bytesPerSecond(samples), screen: size }));
    },
    end: (imageRef) => void (imageRef && output.write(`${imageRef}\n`)),
  };
}

/** Number of bytes at a time, for computing the rate. The caller keeps the samples. */
export interface Sample {
  readonly at: number;
  readonly bytes: number;
}

const windowMs = 5_000;

export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples, sample].filter(({ at }) => sample.at - at <= windowMs);
}

/** Rate over the samples. Undefined without two samples at different times. */
export function bytesPerSecond(samples: readonly Sample[]): number | undefined {
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last || last.at <= first.at) return undefined;
  return (1_000 * (last.bytes - first.bytes)) / (last.at - first.at);
}

interface Screen {
  readonly columns: number;
  readonly rows: number;
}

const idWidth = 12;
const stageWidth = 11;
const sizesWidth = 22;

/** Renders a pull for a terminal: one line per layer, and one for the total with rate and remaining time. */
export function renderPull(
  view: PullProgress,
  { bytesPerSecond, screen }: { bytesPerSecond: number | undefined; screen: Screen },
): string[] {
  const room = Math.max(1, screen.rows - 3);
  const shown = chooseLayers(view.layers, room);
  const hidden = view.layers.length - shown.length;
  return [
    ...shown.map((layer) => renderLayer(layer, screen.columns)),
    ...(hidden > 0 ? [`… and ${hidden} more layers`] : []),
    renderTotal(view, bytesPerSecond, screen.columns),
  ].map((line) => line.slice(0, Math.max(1, screen.columns - 1)));
}

/** Selects layers that fit on the screen, those in progress first. They stay in the order of the image. */
function chooseLayers(layers: readonly LayerProgress[], room: number): readonly LayerProgress[] {
  if (layers.length <= room) return layers;
  const rank = ({ stage }: LayerProgress) =>
    stage === "downloading"
      ? 0
      : stage === "unpacking" || stage === "verifying"
        ? 1
        : stage === "waiting"
          ? 2
          : 3;
  const chosen = new Set([...layers].sort((a, b) => rank(a) - rank(b)).slice(0, room));
  return layers.filter((layer) => chosen.has(layer));
}

function renderLayer({ digest, offset, total, stage }: LayerProgress, columns: number): string {
  const id = digest
    .replace(/^sha256:/, "")
    .slice(0, idWidth)
    .padEnd(idWidth);
  const finished = stage === "done" || stage === "exists";
  const width = Math.min(40, columns - idWidth - stageWidth - sizesWidth - 6);
  if (!finished && width < 5)
    return `${id}  ${renderNarrow({ offset, total, stage }, columns - idWidth - 3)}`;
  const bar = finished ? "" : `${renderBar(offset, total, width)} `;
  const sizes = finished ? formatBytes(total) : `${formatBytes(offset)} / ${formatBytes(total)}`;
  return `${id}  ${stage.padEnd(stageWidth)}  ${bar}${sizes}`;
}

/** Renders a layer on a narrow screen: a bar while it is downloading, otherwise its stage. */
function renderNarrow({ offset, total, stage }: Omit<LayerProgress, "digest">, room: number): string {
  const percent = `${total > 0 ? Math.min(100, Math.floor((100 * offset) / total)) : 0} %`.padStart(6);
  const width = room - percent.length;
  return stage === "downloading" && width >= 5 ? `${renderBar(offset, total, width)}${percent}` : stage;
}

/** Renders a progress bar. Exported for tests. */
export function renderBar(offset: number, total: number, width: number): string {
  const inner = width - 2;
  const filled = total > 0 ? Math.min(inner, Math.floor((inner * offset) / total)) : 0;
  const head = filled < inner ? ">" : "";
  return `[${"=".repeat(filled)}${head}${" ".repeat(inner - filled - head.length)}]`;
}

function renderTotal(progress: PullProgress, bytesPerSecond: number | undefined, columns: number): string {
  const { offset, total } = progress;
  const amount = formatAmount(progress);
  if (!bytesPerSecond || offset >= total) return amount;
  const left = humanDuration((1_000 * (total - offset)) / bytesPerSecond);
  const whole = `${amount}, ${formatBytes(bytesPerSecond)}/s, ${left} left`;
  return whole.length < columns ? whole : `${amount}, ${left} left`;
}

/** Layers that are present before the pull count as zero bytes. */
function formatAmount({ offset, total, layers }: PullProgress): string {
  if (total > 0) return `${formatBytes(offset)} of ${formatBytes(total)}`;
  return offset === 0 && layers.every(({ stage }) => stage === "exists")
    ? "already present"
    : formatBytes(offset);
}

/** Formats a report for pipes and logs. */
export function formatPullLine(image: string, progress: PullProgress): string {
  const { layers } = progress;
  const stages = ["downloading", "verifying", "unpacking"]
    .map((stage) => [layers.filter((layer) => layer.stage === stage).length, stage] as const)
    .filter(([count]) => count > 0)
    .map(([count, stage]) => `${count} ${stage}`);
  const detail = stages.length > 0 ? ` (${stages.join(", ")})` : "";
  return `${image}: ${formatAmount(progress)}${detail}\n`;
}

/** Formats a report as one line of JSON, for scripts. */
export function formatPullJson({ offset, total, layers }: PullProgress, imageRef: string): string {
  const details = layers.map(({ digest, ...layer }) => ({ layer: digest, ...layer }));
  return `${JSON.stringify({ imageRef, offset, total, details })}\n`;
}
