import type { Pace } from "../feed/pull-pace.ts";
import { formatBytes } from "../text/format-bytes.ts";
import { formatElapsed, formatLeft } from "../text/format-duration.ts";

export function describePace(pace: Pace): string {
  switch (pace.kind) {
    case "unknown":
      return "";
    case "done":
      return "unpacking";
    case "still":
      return `no progress for ${formatElapsed(pace.forMs)}`;
    case "moving": {
      const rate = `${formatBytes(pace.bytesPerSecond)}/s`;
      return pace.secondsLeft === undefined ? rate : `${rate} · ${formatLeft(pace.secondsLeft)} left`;
    }
  }
}
