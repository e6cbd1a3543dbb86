import type { PodRef } from "../measure/start-signal.ts";
import { exemplarLabels } from "./exemplar-labels.ts";

/** Labels as text (`stage="init",namespace="shop"`) by which a histogram tells its series apart. */
type LabelText = string;

/** Which pod it was, and when. */
interface Exemplar {
  readonly pod: Pick<PodRef, "namespace" | "name">;
  readonly atMs: number;
}

/**
 * A histogram that keeps the text of each of its series until the series changes, and of each line all that never
 * changes: with tens of thousands of them one that writes all anew takes longer for one scrape than a scrape may take.
 */
export interface Histogram {
  observe(labels: LabelText, value: number, exemplar: Exemplar): void;
  /** The text in pieces. */
  render(format: MetricsFormat): readonly string[];
}

export type MetricsFormat = "prometheus" | "openmetrics";

interface Series {
  /** Of the lines of the buckets, the sum and the count, what stands before the number. */
  readonly heads: { readonly buckets: readonly string[]; readonly sum: string; readonly count: string };
  /** How many fell into each bucket, and behind the last; not cumulative yet. */
  readonly counts: number[];
  readonly exemplars: (Seen | undefined)[];
  sum: number;
  /** Two who scrape in different formats do not undo each other's. */
  rendered: Partial<Record<MetricsFormat, string>>;
}

interface Seen extends Exemplar {
  readonly value: number;
  /** Most are replaced before anybody reads them. */
  text: string | undefined;
}

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

export function createHistogram({ name, help, buckets }: HistogramOptions): Histogram {
  const byLabels = new Map<LabelText, Series>();
  const header = `# HELP ${name} ${help}\n# TYPE ${name} histogram\n`;

  function seriesOf(labels: LabelText): Series {
    const found = byLabels.get(labels);
    if (found) return found;
    const series: Series = {
      heads: {
        buckets: [...buckets, "+Inf"].map((bound) =>
          [name, '_bucket{le="', bound, '",', labels, "} "].join(""),
        ),
        sum: `${name}_sum{${labels}} `,
        count: `${name}_count{${labels}} `,
      },
      counts: new Array<number>(buckets.length + 1).fill(0),
      exemplars: [],
      sum: 0,
      rendered: {},
    };
    byLabels.set(labels, series);
    return series;
  }

  function renderSeries({ heads, counts, exemplars, sum }: Series, format: MetricsFormat): string {
    let count = 0;
    // Parts that are joined once: added up, they would be put together anew in every scrape.
    const parts: string[] = [];
    for (let i = 0; i < counts.length; i++) {
      count += counts[i] ?? 0;
      const exemplar = format === "openmetrics" ? exemplars[i] : undefined;
      parts.push(heads.buckets[i] ?? "", `${count}`, exemplar ? exemplarText(exemplar) : "\n");
    }
    parts.push(heads.sum, `${sum}\n`, heads.count, `${count}\n`);
    return parts.join("");
  }

  return {
    observe(labels, value, exemplar) {
      // One impossible number would stay in the sum for good.
      if (!Number.isFinite(value) || value < 0) return;
      const series = seriesOf(labels);
      const bound = buckets.findIndex((upper) => value <= upper);
      const bucket = bound === -1 ? buckets.length : bound;
      series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
      series.exemplars[bucket] = { ...exemplar, value, text: undefined };
      series.sum += value;
      series.rendered = {};
    },
    render(format) {
      const pieces = [header];
      for (const series of byLabels.values()) {
        const text = series.rendered[format] ?? renderSeries(series, format);
        series.rendered[format] = text;
        pieces.push(text);
      }
      return pieces;
    },
  };
}

/** Joined, as are the heads: a text that was added up is walked through part by part whenever it is copied. */
function exemplarText(seen: Seen): string {
  seen.text ??= [" # {", exemplarLabels(seen.pod), "} ", seen.value, " ", seen.atMs / 1_000, "\n"].join("");
  return seen.text;
}
