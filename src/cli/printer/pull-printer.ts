import type { Clock } from "../../lib/clock.ts";
import { formatPullJson, formatPullLine, type PullView, renderPull } from "./pull-progress.ts";
import { addSample, bytesPerSecond, type Sample } from "./pull-rate.ts";
import { createRedraw, type Output } from "./redraw.ts";

/** Shows a pull as it comes along. */
export interface PullPrinter {
  report(view: PullView): void;
  /** The pull is over: with the image's reference, or without one. */
  end(imageRef: string | undefined): void;
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
  const screen = createRedraw(output);
  let samples: readonly Sample[] = [];
  return {
    report(view) {
      samples = addSample(samples, { at: clock.now(), bytes: view.offset });
      const size = { columns: output.columns || 80, rows: output.rows || 24 };
      screen.draw(renderPull(view, { bytesPerSecond: bytesPerSecond(samples), screen: size }));
    },
    end: (imageRef) => void (imageRef && output.write(`${imageRef}\n`)),
  };
}
