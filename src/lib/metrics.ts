import { formatLabels } from "./format-labels.ts";

/**
 * Counts for Prometheus. Whoever counts holds a cell and adds to its number: nothing is looked up, made text or
 * measured before somebody reads.
 */
export interface Metrics {
  /** The same cell for the same name and labels. */
  counter(metric: Metric, labels?: Labels): Counter;
  histogram(metric: Metric & { readonly buckets: readonly number[] }, labels?: Labels): Histogram;
  /** Forgets a series: whoever still holds its cell counts for nobody. */
  remove(metric: Pick<Metric, "name">, labels: Labels): void;
  /** Values that are read when somebody asks, until the returned function is called. */
  gauge(metric: Metric, read: () => Iterable<Sample>): () => void;
  /** Likewise, for what somebody else counts. */
  total(metric: Metric, read: () => Iterable<Sample>): () => void;
  /** In Prometheus' text format; all of them unless told which, by their names. */
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
  /** Those that are read when somebody asks. */
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
    // A family has cells of one kind.
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
        .flatMap(familyLines)
        .map((text) => `${text}\n`)
        .join(""),
  };
}

function familyLines({ name, help, type, series, reads }: Family): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...[...series.values()].flatMap(({ lines }) => [...lines()]),
    ...[...reads].flatMap((read) =>
      Array.from(read(), ([labels, value]) => line(name, formatLabels(labels), value)),
    ),
  ];
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
      // A clock that was set back must not spoil the sum for good.
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

/** As many buckets as told, each so many times as wide as the one before. */
export function exponentialBuckets(first: number, factor: number, count: number): number[] {
  // Not one times the other again and again: the error would add up, and show in the labels.
  return Array.from({ length: count }, (_, i) => Number((first * factor ** i).toPrecision(12)));
}

function line(name: string, labels: string, value: number): string {
  return labels === "" ? `${name} ${value}` : `${name}{${labels}} ${value}`;
}
