import type { Clock } from "../../lib/clock.ts";
import { formatPullJson, formatPullLine, type PullView, renderPull } from "./pull-progress.ts";
import { addSample, bytesPerSecond, type Sample } from "./track-rate.ts";

/** Shows a pull as it comes along. */
export interface PullPrinter {
  report(view: PullView): void;
  /** The pull is over: with the image's reference, or without one. */
  end(imageRef: string | undefined): void;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
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

function jsonPrinter(output: Output): PullPrinter {
  return { report: (view) => void output.write(formatPullJson(view)), end() {} };
}

/** A line only when there is news. */
function linePrinter({ image, output }: { image: string; output: Output }): PullPrinter {
  let last = "";
  return {
    report(view) {
      const line = formatPullLine(image, view);
      if (line !== last) output.write(line);
      last = line;
    },
    end: (imageRef) => void (imageRef && output.write(`${imageRef}\n`)),
  };
}

/** Draws over what it drew before. */
function terminalPrinter({ output, clock }: { output: Output; clock: Clock }): PullPrinter {
  let drawn = 0;
  let samples: readonly Sample[] = [];
  return {
    report(view) {
      samples = addSample(samples, { at: clock.now(), bytes: view.offset });
      const screen = { columns: output.columns ?? 80, rows: output.rows ?? 24 };
      const lines = renderPull(view, { bytesPerSecond: bytesPerSecond(samples), screen });
      const up = drawn > 0 ? `\x1b[${drawn}A` : "";
      // Clear what is left of each old line, and lines that are there no more.
      output.write(`${up}${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`);
      drawn = lines.length;
    },
    end: (imageRef) => void (imageRef && output.write(`${imageRef}\n`)),
  };
}
