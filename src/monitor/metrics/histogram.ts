/** Labels as text (`stage="init",namespace="shop"`) by which a histogram tells its series apart. */
type LabelText = string;

interface Exemplar {
  /** Formatted labels. */
  readonly labels: LabelText;
  readonly value: number;
  readonly atMs: number;
}

/**
 * A histogram that keeps the text of each of its series until the series changes: with tens of thousands of them
 * prom-client's takes longer for one scrape than a scrape may take.
 */
export interface Histogram {
  observe(labels: LabelText, value: number, exemplar: Omit<Exemplar, "value">): void;
  render(format: MetricsFormat): string;
}

export type MetricsFormat = "prometheus" | "openmetrics";

interface Series {
  readonly labels: LabelText;
  /** How many fell into each bucket, and behind the last; not cumulative yet. */
  readonly counts: number[];
  readonly exemplars: (Exemplar | undefined)[];
  sum: number;
  rendered: { readonly format: MetricsFormat; readonly text: string } | undefined;
}

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

export function createHistogram({ name, help, buckets }: HistogramOptions): Histogram {
  const byLabels = new Map<LabelText, Series>();

  function seriesOf(labels: LabelText): Series {
    const found = byLabels.get(labels);
    if (found) return found;
    const counts = new Array<number>(buckets.length + 1).fill(0);
    const series: Series = { labels, counts, exemplars: [], sum: 0, rendered: undefined };
    byLabels.set(labels, series);
    return series;
  }

  function renderSeries({ labels, counts, exemplars, sum }: Series, format: MetricsFormat): string {
    let count = 0;
    // Parts that are joined once: added up, they would be put together anew in every scrape.
    const parts: (string | number)[] = [];
    for (let i = 0; i < counts.length; i++) {
      count += counts[i] ?? 0;
      parts.push(name, '_bucket{le="', buckets[i] ?? "+Inf", '",', labels, "} ", count);
      const exemplar = format === "openmetrics" ? exemplars[i] : undefined;
      if (exemplar) parts.push(" # {", exemplar.labels, "} ", exemplar.value, " ", exemplar.atMs / 1_000);
      parts.push("\n");
    }
    parts.push(`${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${count}\n`);
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
      series.exemplars[bucket] = { ...exemplar, value };
      series.sum += value;
      series.rendered = undefined;
    },
    render(format) {
      const parts = [`# HELP ${name} ${help}\n# TYPE ${name} histogram\n`];
      for (const series of byLabels.values()) {
        if (series.rendered?.format !== format) {
          series.rendered = { format, text: renderSeries(series, format) };
        }
        parts.push(series.rendered.text);
      }
      return parts.join("");
    },
  };
}

export function formatLabels(labels: Readonly<Record<string, string>>): LabelText {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(",");
}

function escapeValue(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
