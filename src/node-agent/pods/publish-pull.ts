// Clauses: 3542-14
import type { Pod } from "../../api/meta/objects.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { ReportGranularity } from "../../cri/progress-message.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ContentProgress } from "../containerd/content-progress.ts";
import { stallMessage, stallReason } from "../containerd/content-pull.ts";
import { isStalled, type TrackedPull } from "../containerd/track-pulls.ts";
import { progressMessage, startProgressEvents } from "../publish/progress-events.ts";
import type { PullMetrics } from "../publish/pull-metrics.ts";
import type { PullTracker } from "../publish/pull-tracker.ts";
import type { RunningPull } from "./running-pulls.ts";

export interface PublishPullOptions {
  readonly content: ContentProgress;
  readonly tracker: PullTracker;
  readonly metrics: PullMetrics;
  readonly recorder: EventRecorder;
  /** Interval of progress events. */
  readonly every: ReportGranularity;
  /** Resolves when the node may record a progress event. */
  readonly allowEvent: (signal: AbortSignal) => Promise<void>;
  /** Time without data after which a pull is reported as stalled. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Publishes the progress of a pull in the tracker, events and metrics, until the returned function is called. */
export function publishPull(options: PublishPullOptions, pod: Pod, pull: RunningPull): () => Promise<void> {
  const { content, tracker, recorder, clock, every, allowEvent, timeoutMs } = options;
  const { image, container, fieldPath, startedMs } = pull;
  const tracked = tracker.start(pod.metadata.uid ?? "", {
    image,
    container,
    startedAt: new Date(startedMs).toISOString(),
    offset: 0,
    total: 0,
    layers: [],
  });
  const metered = options.metrics.start(image);
  let names: readonly string[] = [image];
  const events = startProgressEvents({
    clock,
    every,
    allowEvent,
    record: (progress) =>
      recorder.record(pod, {
        type: "Normal",
        reason: "Pulling",
        message: progressMessage(names.length > 1 ? `one of ${names.join(", ")}` : image, progress),
        fieldPath,
      }),
  });
  /** Time of the last data when the stall was reported. */
  let reportedStall: number | undefined;

  function onSample(sample: TrackedPull): void {
    tracked.update({ ...sample.progress, ...(sample.oneOf && { oneOf: sample.oneOf }) });
    if (sample.state !== "resolving") {
      names = sample.oneOf ?? [image];
      metered.onReport(sample.progress);
      events.onReport(sample.progress);
    }
    const { progressedMs } = sample;
    if (reportedStall === progressedMs || !isStalled(sample, timeoutMs, clock.now())) return;
    reportedStall = progressedMs;
    metered.onStall();
    const message = stallMessage(image, { sample, timeoutMs });
    recorder.record(pod, { type: "Warning", reason: stallReason, message, fieldPath });
  }

  const following = content.follow({ image, startedMs }, { onSample });
  return async () => {
    tracked.remove();
    metered.end();
    await Promise.all([following.stop(), events.end()]);
  };
}
