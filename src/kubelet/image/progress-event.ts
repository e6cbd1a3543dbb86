import type { ImagePullProgress } from "../configuration/image-pull-progress.ts";

/** Reports come each second, and not to the millisecond: half of one early is in time. */
const reportIntervalMs = 1_000;

/** Where a pull was when the pod's events last told of it; at its start that is nowhere. */
export interface LastTold {
  readonly atMs: number;
  readonly offset: number;
}

export interface PullPosition {
  readonly offset: number;
  /** 0 when it is not known. */
  readonly total: number;
}

/** Whether the pod's events are due a word about the pull. There is none about unpacking, when all bytes are here. */
export function isEventDue(
  every: ImagePullProgress,
  last: LastTold,
  current: PullPosition & { now: number },
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

/** `Pulling Container image X: 1Gi of 4Gi`, as the proposal prints it. */
export function progressMessage(image: string, { offset, total }: PullPosition): string {
  const pulled = formatBinary(offset);
  return `Pulling Container image ${image}: ${total > 0 ? `${pulled} of ${formatBinary(total)}` : pulled}`;
}

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** `512Mi`, `1Gi`, `1.4Gi`: the largest unit of which there is one, with at most one decimal. */
export function formatBinary(bytes: number): string {
  let unit = 0;
  let value = bytes;
  // Rounded first: 1023.99Ki is 1Mi, not 1024Ki.
  while (Math.round(value * 10) >= 10_240 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${Math.round(value * 10) / 10}${units[unit]}`;
}
