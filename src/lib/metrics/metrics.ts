/** Prometheus metrics registry. Counters and histograms are updated in place; text is only generated on scrape. */
export interface Metrics {
  /** Returns the same counter for the same name and labels. */
  counter(metric: Metric, labels?: Labels): Counter;
  histogram(metric: Metric & { readonly buckets: readonly number[] }, labels?: Labels): Histogram;
  /** Removes a series. Updates of a counter or histogram obtained before have no effect. */
  remove(metric: Pick<Metric, "name">, labels: Labels): void;
  /** Registers a gauge that is read on each scrape. Returns a function that unregisters it. */
  gauge(metric: Metric, read: () => Iterable<Sample>): () => void;
  /** Registers a counter that is read on each scrape. Returns a function that unregisters it. */
  total(metric: Metric, read: () => Iterable<Sample>): () => void;
  /** Text in the Prometheus format, optionally limited by metric name. */
  text(isWanted?: (name: string) => boolean): string;
}

interface Metric {
  readonly name: string;
  readonly help: string;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

export interface Counter {
  add(by?: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

interface Family extends Metric {
  readonly type: "counter" | "histogram" | "gauge";
  readonly series: Map<string, Series>;
  /** Callbacks that are read on each scrape. */
  readonly reads: Set<() => Iterable<Sample>>;
}

interface Series<Cell = Counter | Histogram> {
  readonly cell: Cell;
  lines(): Iterable<string>;
}

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

export function createMetrics(): Metrics {
  const families = new Map<string, Family>();

  function familyOf({ name, help }: Metric, type: Family["type"]): Family {
    const known = families.get(name);
    if (known) return known;
    const family: Family = { name, help, type, series: new Map(), reads: new Set() };
    families.set(name, family);
    return family;
  }

  function cellOf<Cell extends Counter | Histogram>(
    { series }: Family,
    labels: Labels,
    create: (labels: string) => Series<Cell>,
  ): Cell {
    const text = formatLabels(labels);
    const known = series.get(text);
    // All series of a family have the same type.
    if (known) return known.cell as Cell;
    const created = create(text);
    series.set(text, created);
    return created.cell;
  }

  const readAs = (type: Family["type"]) => (metric: Metric, read: () => Iterable<Sample>) => {
    const { reads } = familyOf(metric, type);
    reads.add(read);
    return () => void reads.delete(read);
  };

  return {
    counter: (metric, labels = {}) =>
      cellOf(familyOf(metric, "counter"), labels, (text) => createCounter(metric.name, text)),
    histogram: (metric, labels = {}) =>
      cellOf(familyOf(metric, "histogram"), labels, (text) => createHistogram(metric, text)),
    remove: ({ name }, labels) => void families.get(name)?.series.delete(formatLabels(labels)),
    gauge: readAs("gauge"),
    total: readAs("counter"),
    text: (isWanted = () => true) =>
      [...families.values()]
        .filter(({ name }) => isWanted(name))
        .map(familyText)
        .join(""),
  };
}

function familyText({ name, help, type, series, reads }: Family): string {
  let text = formatMetricHeader({ name, help }, type);
  for (const { lines } of series.values()) for (const each of lines()) text += `${each}\n`;
  for (const read of reads) {
    for (const [labels, value] of read()) text += `${line(name, formatLabels(labels), value)}\n`;
  }
  return text;
}

function createCounter(name: string, labels: string): Series<Counter> {
  let count = 0;
  const cell: Counter = {
    add(by = 1) {
      count += by;
    },
  };
  return { cell, lines: () => [line(name, labels, count)] };
}

function createHistogram(
  { name, buckets }: { name: string; buckets: readonly number[] },
  labels: string,
): Series<Histogram> {
  const counts = new Array<number>(buckets.length + 1).fill(0);
  let sum = 0;
  const cell: Histogram = {
    observe(value) {
      // A clock that was set back must not decrease the sum.
      const real = Math.max(0, value);
      let bucket = 0;
      while (bucket < buckets.length && real > (buckets[bucket] ?? 0)) bucket++;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      sum += real;
    },
  };
  function* lines() {
    const others = labels === "" ? "" : `${labels},`;
    let count = 0;
    for (const [i, inBucket] of counts.entries()) {
      count += inBucket;
      yield line(`${name}_bucket`, `${others}le="${buckets[i] ?? "+Inf"}"`, count);
    }
    yield line(`${name}_sum`, labels, sum);
    yield line(`${name}_count`, labels, count);
  }
  return { cell, lines };
}

/** Creates `count` bucket bounds, each `factor` times the previous one. */
export function exponentialBuckets(first: number, factor: number, count: number): number[] {
  // Not by repeated multiplication, whose rounding errors would be visible in the labels.
  return Array.from({ length: count }, (_, i) => Number((first * factor ** i).toPrecision(12)));
}

function line(name: string, labels: string, value: number): string {
  return labels === "" ? `${name} ${value}` : `${name}{${labels}} ${value}`;
}

/** Formats labels without braces: `stage="init",namespace="shop"`. */
export function formatLabels(labels: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name in labels) {
    text += `${text === "" ? "" : ","}${name}="${escapeValue(labels[name] ?? "")}"`;
  }
  return text;
}

const special = /[\\"\n]/;

function escapeValue(value: string): string {
  if (!special.test(value)) return value;
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}

/** Formats the HELP and TYPE lines of a metric. */
export function formatMetricHeader(
  { name, help }: { readonly name: string; readonly help: string },
  type: "counter" | "histogram" | "gauge",
): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

/** Counts items by their labels, for a gauge. Items without labels are not counted. */
export function* countByLabels<T>(
  items: Iterable<T>,
  labelsOf: (item: T) => Readonly<Record<string, string>> | undefined,
): Iterable<[Readonly<Record<string, string>>, number]> {
  const counts = new Map<string, [Readonly<Record<string, string>>, number]>();
  for (const item of items) {
    const labels = labelsOf(item);
    if (!labels) continue;
    const key = JSON.stringify(labels);
    counts.set(key, [labels, (counts.get(key)?.[1] ?? 0) + 1]);
  }
  yield* counts.values();
}
