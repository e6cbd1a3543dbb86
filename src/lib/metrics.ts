/**
 * Counts for Prometheus. Whoever counts holds a cell and adds to its number: nothing is looked up, made text or
 * measured before somebody reads.
 */
export interface Metrics {
  /** The same cell for the same name and labels. */
  counter(metric: Metric, labels?: Labels): Counter;
  histogram(metric: Metric & { readonly buckets: readonly number[] }, labels?: Labels): Histogram;
  /** Values that are read when somebody asks, until the returned function is called. */
  gauge(metric: Metric, read: () => Iterable<Sample>): () => void;
  /** In Prometheus' text format. */
  text(): string;
}

interface Metric {
  readonly name: string;
  readonly help: string;
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

export interface Counter {
  add(): void;
}

export interface Histogram {
  observe(value: number): void;
}

interface Family extends Metric {
  readonly type: "counter" | "histogram" | "gauge";
  readonly cells: Map<string, Counter | Histogram>;
  /** The lines of each series. */
  readonly renders: Set<() => Iterable<string>>;
}

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

export function createMetrics(): Metrics {
  const families = new Map<string, Family>();

  function familyOf({ name, help }: Metric, type: Family["type"]): Family {
    const known = families.get(name);
    if (known) return known;
    const family: Family = { name, help, type, cells: new Map(), renders: new Set() };
    families.set(name, family);
    return family;
  }

  function cellOf<Cell extends Counter | Histogram>(
    { cells, renders }: Family,
    labels: Labels,
    create: (labels: string) => { cell: Cell; render: () => Iterable<string> },
  ): Cell {
    const text = formatLabels(labels);
    const known = cells.get(text);
    // A family has cells of one kind.
    if (known) return known as Cell;
    const { cell, render } = create(text);
    cells.set(text, cell);
    renders.add(render);
    return cell;
  }

  return {
    counter: (metric, labels = {}) =>
      cellOf(familyOf(metric, "counter"), labels, (text) => createCounter(metric.name, text)),
    histogram: (metric, labels = {}) =>
      cellOf(familyOf(metric, "histogram"), labels, (text) => createHistogram(metric, text)),
    gauge(metric, read) {
      const { renders } = familyOf(metric, "gauge");
      const render = () =>
        Array.from(read(), ([labels, value]) => line(metric.name, formatLabels(labels), value));
      renders.add(render);
      return () => void renders.delete(render);
    },
    text: () =>
      [...families.values()]
        .flatMap(({ name, help, type, renders }) => [
          `# HELP ${name} ${help}`,
          `# TYPE ${name} ${type}`,
          ...[...renders].flatMap((render) => [...render()]),
        ])
        .map((text) => `${text}\n`)
        .join(""),
  };
}

function createCounter(name: string, labels: string) {
  let count = 0;
  const cell: Counter = {
    add() {
      count++;
    },
  };
  return { cell, render: () => [line(name, labels, count)] };
}

function createHistogram({ name, buckets }: { name: string; buckets: readonly number[] }, labels: string) {
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
  function* render() {
    const others = labels === "" ? "" : `${labels},`;
    let count = 0;
    for (const [i, inBucket] of counts.entries()) {
      count += inBucket;
      yield line(`${name}_bucket`, `${others}le="${buckets[i] ?? "+Inf"}"`, count);
    }
    yield line(`${name}_sum`, labels, sum);
    yield line(`${name}_count`, labels, count);
  }
  return { cell, render };
}

/** As many buckets as told, each so many times as wide as the one before. */
export function exponentialBuckets(first: number, factor: number, count: number): number[] {
  // Not one times the other again and again: the error would add up, and show in the labels.
  return Array.from({ length: count }, (_, i) => Number((first * factor ** i).toPrecision(12)));
}

function line(name: string, labels: string, value: number): string {
  return labels === "" ? `${name} ${value}` : `${name}{${labels}} ${value}`;
}

function formatLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escapeCharacter)}"`)
    .join(",");
}

function escapeCharacter(character: string): string {
  return character === "\n" ? "\\n" : `\\${character}`;
}
