import type { MetricsFormat } from "./histogram.ts";

/** A counter whose series are told apart by labels as text; cheaper to keep and to read where there are thousands. */
export interface TextCounter {
  inc(labels: string, by?: number): void;
  render(format: MetricsFormat): string;
}

export function createTextCounter({
  name,
  help,
}: {
  /** Ends in `_total`. */
  readonly name: string;
  readonly help: string;
}): TextCounter {
  const values = new Map<string, number>();
  return {
    inc: (labels, by = 1) => void values.set(labels, (values.get(labels) ?? 0) + by),
    render(format) {
      // In OpenMetrics what describes a counter names it without its ending.
      const described = format === "openmetrics" ? name.replace(/_total$/, "") : name;
      let text = `# HELP ${described} ${help}\n# TYPE ${described} counter\n`;
      for (const [labels, value] of values) text += `${name}{${labels}} ${value}\n`;
      return text;
    },
  };
}
