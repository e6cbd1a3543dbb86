// Clauses: 3542-6
import type { ReportGranularity } from "../../cri/progress-message.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PullProgress } from "../../lib/image/pull-progress.ts";

type Position = Pick<PullProgress, "offset" | "total">;

interface ProgressEventsOptions {
  readonly clock: Clock;
  /** Interval of the events. */
  readonly every: ReportGranularity;
  /** Resolves when the node may record a progress event. */
  readonly allowEvent: (signal: AbortSignal) => Promise<void>;
  record(progress: Position): void;
}

/** Progress events of one pull. */
export interface ProgressEvents {
  onReport(report: PullProgress): void;
  /** Ends the events. Resolves when none is waiting any more. */
  end(): Promise<void> | undefined;
}

/** Records progress events when they are due and the node's rate limit allows them. The pull waits for neither. */
export function startProgressEvents(options: ProgressEventsOptions): ProgressEvents {
  const { clock, every, allowEvent, record } = options;
  let latest = { offset: 0, total: 0, now: clock.now() };
  let last: LastReported = { atMs: latest.now, offset: 0 };
  let reporting: Promise<void> | undefined;
  const ended = new AbortController();

  async function recordWhenAllowed(due: LastReported): Promise<void> {
    await allowEvent(ended.signal).catch(() => {});
    reporting = undefined;
    // In the meantime the pull may have ended, received its last byte or restarted.
    if (ended.signal.aborted || !isEventDue(every, last, latest)) return;
    // The next interval starts when this event was due, not when it was recorded.
    last = due;
    record(latest);
  }

  return {
    onReport({ offset, total }) {
      latest = { offset, total, now: clock.now() };
      // A pull with the next login, or after a restart of the server, starts from 0.
      if (offset < last.offset) last = { ...last, offset };
      if (isEventDue(every, last, latest)) reporting ??= recordWhenAllowed({ atMs: latest.now, offset });
    },
    end() {
      ended.abort();
      return reporting;
    },
  };
}

/** Interval of reports. An event may be half of it early, because reports are not exact to the millisecond. */
const reportIntervalMs = 1_000;

/** Progress at the last event; 0 bytes at the start. */
export interface LastReported {
  readonly atMs: number;
  readonly offset: number;
}

/** Returns whether a progress event is due. There is none while unpacking, after all bytes were received. */
export function isEventDue(
  every: ReportGranularity,
  last: LastReported,
  current: Position & { now: number },
): boolean {
  const { now, offset, total } = current;
  if (offset === 0 && total === 0) return false;
  if (total > 0 && offset >= total) return false;
  switch (every.kind) {
    case "none":
      return false;
    case "time":
      return now - last.atMs >= every.intervalMs - reportIntervalMs / 2;
    case "size":
      return offset - last.offset >= every.intervalBytes;
  }
}

/** Formats `Pulling Container image X: 1Gi of 4Gi`, as specified by KEP-3542. */
export function progressMessage(image: string, { offset, total }: Position): string {
  const pulled = formatBinary(offset);
  return `Pulling Container image ${image}: ${total > 0 ? `${pulled} of ${formatBinary(total)}` : pulled}`;
}

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Formats `512Mi`, `1Gi`, `1.4Gi`: the largest unit with a value of at least 1, and at most one decimal. */
export function formatBinary(bytes: number): string {
  let unit = 0;
  let value = bytes;
  // Compares the rounded value: 1023.99Ki is 1Mi, not 1024Ki.
  while (Math.round(value * 10) >= 10_240 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${Math.round(value * 10) / 10}${units[unit]}`;
}
