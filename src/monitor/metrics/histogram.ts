import { formatLabels, formatMetricHeader } from "../../lib/metrics/metrics.ts";
import type { PodRef } from "../measure/start-signal.ts";

/** Formatted labels that identify a series: `stage="init",namespace="shop"`. */
type LabelText = string;

/** Pod and time of an observation. */
interface Exemplar {
  readonly pod: Pick<PodRef, "namespace" | "name">;
  readonly atMs: number;
}

/**
 * Histogram that caches the text of each series until the series changes, and the constant prefix of each line. With
 * tens of thousands of series, formatting everything for each scrape would exceed the scrape timeout.
 */
export interface Histogram {
  observe(labels: LabelText, value: number, exemplar: Exemplar): void;
  /** Text of the histogram, in pieces to be concatenated. */
  render(format: MetricsFormat): readonly string[];
}

export type MetricsFormat = "prometheus" | "openmetrics";

interface Series {
  /** Prefixes of the bucket, sum and count lines, up to the number. */
  readonly prefixes: { readonly buckets: readonly string[]; readonly sum: string; readonly count: string };
  /** Observations in each bucket, the last one being +Inf; not cumulative. */
  readonly counts: number[];
  readonly exemplars: (StoredExemplar | undefined)[];
  sum: number;
  /** Cached text by format, so that scrapers with different formats do not evict each other's. */
  rendered: Partial<Record<MetricsFormat, string>>;
}

interface StoredExemplar extends Exemplar {
  readonly value: number;
  /** Formatted on first use: most exemplars are replaced before a scrape. */
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
  const header = formatMetricHeader({ name, help }, "histogram");

  function seriesOf(labels: LabelText): Series {
    const found = byLabels.get(labels);
    if (found) return found;
    const series: Series = {
      prefixes: {
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

  function renderSeries({ prefixes, counts, exemplars, sum }: Series, format: MetricsFormat): string {
    let count = 0;
    // Joined once: a concatenated string would be flattened again for every scrape.
    const parts: string[] = [];
    for (let i = 0; i < counts.length; i++) {
      count += counts[i] ?? 0;
      const exemplar = format === "openmetrics" ? exemplars[i] : undefined;
      parts.push(prefixes.buckets[i] ?? "", `${count}`, exemplar ? formatExemplar(exemplar) : "\n");
    }
    parts.push(prefixes.sum, `${sum}\n`, prefixes.count, `${count}\n`);
    return parts.join("");
  }

  return {
    observe(labels, value, exemplar) {
      // An invalid number would stay in the sum forever.
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

/** Joined like the prefixes, because a concatenated string is traversed part by part whenever it is copied. */
function formatExemplar(seen: StoredExemplar): string {
  seen.text ??= [" # {", exemplarLabels(seen.pod), "} ", seen.value, " ", seen.atMs / 1_000, "\n"].join("");
  return seen.text;
}

/** Maximum length of an exemplar's labels in OpenMetrics, names included. */
const maxExemplarLength = 128;
const namesLength = "namespacepod".length;

/** Labels that identify the pod. If they are too long, the namespace is omitted and then the name is cut. */
function exemplarLabels({ namespace, name }: Pick<PodRef, "namespace" | "name">): string {
  const isShort = namesLength + namespace.length + name.length <= maxExemplarLength;
  return formatLabels(
    isShort ? { namespace, pod: name } : { pod: name.slice(0, maxExemplarLength - "pod".length) },
  );
}
