import { humanDuration } from "../../lib/human-duration.ts";
import { formatBytes } from "./bytes.ts";

/** One report of a pull, as numbers. */
export interface PullView {
  readonly imageRef: string;
  readonly offset: number;
  readonly total: number;
  readonly layers: readonly LayerView[];
}

interface LayerView {
  readonly layer: string;
  readonly offset: number;
  readonly total: number;
  readonly stage: string;
}

interface Screen {
  readonly columns: number;
  readonly rows: number;
}

const idWidth = 12;
const stageWidth = 11;
const sizesWidth = 22;

/** The picture of a pull on a terminal: a line per layer, and one for the whole with rate and time left. */
export function renderPull(
  view: PullView,
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

/** Where not all fit: those in progress first. The order on the screen stays the image's. */
function chooseLayers(layers: readonly LayerView[], room: number): readonly LayerView[] {
  if (layers.length <= room) return layers;
  const rank = ({ stage }: LayerView) =>
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

function renderLayer({ layer, offset, total, stage }: LayerView, columns: number): string {
  const id = layer
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

/** Where there is no room for words and figures, a layer on its way has a bar, and any other its stage. */
function renderNarrow({ offset, total, stage }: Omit<LayerView, "layer">, room: number): string {
  const percent = `${total > 0 ? Math.min(100, Math.floor((100 * offset) / total)) : 0} %`.padStart(6);
  const width = room - percent.length;
  return stage === "downloading" && width >= 5 ? `${renderBar(offset, total, width)}${percent}` : stage;
}

/** Exported for its test. */
export function renderBar(offset: number, total: number, width: number): string {
  const inner = width - 2;
  const filled = total > 0 ? Math.min(inner, Math.floor((inner * offset) / total)) : 0;
  const head = filled < inner ? ">" : "";
  return `[${"=".repeat(filled)}${head}${" ".repeat(inner - filled - head.length)}]`;
}

function renderTotal(
  { offset, total }: PullView,
  bytesPerSecond: number | undefined,
  columns: number,
): string {
  const amount = `${formatBytes(offset)} of ${formatBytes(total)}`;
  if (!bytesPerSecond || offset >= total) return amount;
  const left = humanDuration((1_000 * (total - offset)) / bytesPerSecond);
  const whole = `${amount}, ${formatBytes(bytesPerSecond)}/s, ${left} left`;
  return whole.length < columns ? whole : `${amount}, ${left} left`;
}

/** For pipes and logs. */
export function formatPullLine(image: string, { offset, total, layers }: PullView): string {
  const stages = ["downloading", "verifying", "unpacking"]
    .map((stage) => [layers.filter((layer) => layer.stage === stage).length, stage] as const)
    .filter(([count]) => count > 0)
    .map(([count, stage]) => `${count} ${stage}`);
  const detail = stages.length > 0 ? ` (${stages.join(", ")})` : "";
  return `${image}: ${formatBytes(offset)} of ${formatBytes(total)}${detail}\n`;
}

/** One JSON object a line: what scripts rely on. */
export function formatPullJson({ imageRef, offset, total, layers }: PullView): string {
  return `${JSON.stringify({ imageRef, offset, total, details: layers })}\n`;
}
