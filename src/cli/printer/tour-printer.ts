import type { Clock } from "../../lib/clock.ts";
import type { TourEvent } from "../../tour/tour-event.ts";
import { createRedraw, type Output } from "./redraw.ts";
import { wantsColor } from "./terminal-text.ts";
import { renderTourEvent } from "./tour-lines.ts";
import { formatTourState, renderTourState } from "./tour-state.ts";

export interface TourPrinter {
  tell(event: TourEvent): void;
}

/** Tells the tour as it happens. On a terminal the state of a pod is drawn in place; elsewhere news is a line. */
export function createTourPrinter({ output, clock }: { output: Output; clock: Clock }): TourPrinter {
  const color = wantsColor(output);
  const columns = () => output.columns || 80;
  const write = (event: Exclude<TourEvent, { kind: "state" }>) => {
    const lines = renderTourEvent(event, { columns: columns(), color });
    output.write(lines.map((line) => `${line}\n`).join(""));
  };
  if (!output.isTTY) {
    let last = "";
    return {
      tell(event) {
        if (event.kind !== "state") return write(event);
        const line = formatTourState(event.state);
        if (withoutSeconds(line) !== withoutSeconds(last)) output.write(`${line}\n`);
        last = line;
      },
    };
  }
  const live = createRedraw(output);
  return {
    tell(event) {
      if (event.kind === "state") {
        const frame = Math.floor(clock.now() / 250);
        return live.draw(["", ...renderTourState(event.state, { columns: columns(), color, frame }), ""]);
      }
      live.draw([]);
      write(event);
    },
  };
}

/** That time goes by is no news. */
function withoutSeconds(line: string): string {
  return line.replaceAll(/\d+ s\b/g, "");
}
