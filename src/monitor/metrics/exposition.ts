import { metricsContentType } from "../../lib/metrics.ts";
import type { MetricsFormat } from "./histogram.ts";

export const contentTypes: Readonly<Record<MetricsFormat, string>> = {
  prometheus: metricsContentType,
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** Exemplars exist in OpenMetrics only: whoever understands it (Prometheus asks for it first) gets it. */
export function chooseFormat(accept: string | undefined): MetricsFormat {
  const wanted = (accept ?? "").split(",").some((part) => {
    const [type, ...parameters] = part.split(";").map((text) => text.trim());
    return type === "application/openmetrics-text" && !parameters.some((text) => /^q=0(\.0*)?$/.test(text));
  });
  return wanted ? "openmetrics" : "prometheus";
}

/** All pieces as bytes: texts of millions of characters are put together once, where they are sent from. */
export function encodePieces(pieces: readonly string[]): Buffer {
  const lengths = pieces.map((piece) => Buffer.byteLength(piece));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, 0));
  let end = 0;
  for (const piece of pieces) end += bytes.write(piece, end);
  return bytes;
}

/** OpenMetrics of what is written in the older format: what describes a counter names it without its ending. */
export function toOpenMetrics(text: string): string {
  const counters = new Set([...text.matchAll(/^# TYPE (\S+)_total counter$/gm)].map(([, name]) => name));
  return text.replace(/^(# (?:HELP|TYPE) )(\S+)_total /gm, (whole, start: string, name: string) =>
    counters.has(name) ? `${start}${name} ` : whole,
  );
}
