// Clauses: 3542-14
import type { Clock } from "../../lib/clock.ts";
import { parseImageName } from "../../lib/image/image-name.ts";
import { noProgressMessage, type PullProgress } from "../../lib/image/pull-progress.ts";
import type { ContentProgress } from "./content-progress.ts";
import { isStalled, type TrackedPull } from "./track-pulls.ts";

export interface ContentPullOptions {
  readonly content: ContentProgress;
  readonly clock: Clock;
  /** Time without data after which the pull is cancelled and retried. Infinity disables it. */
  readonly timeoutMs: number;
  /** Retries of a pull without progress, before it fails. */
  readonly maxRetries: number;
}

interface ContentPullCall<T> {
  readonly image: string;
  readonly signal: AbortSignal;
  /** Pulls the image without progress. */
  pull(signal: AbortSignal): Promise<T>;
  onReport(report: PullProgress): void;
  /** Called each time the pull was cancelled because no data arrived. */
  onStall?(message: string): void;
  onUnavailable?(): void;
}

/** Reason of the event about a pull for which no data arrives. */
export const stallReason = "PullStalled";

/** Pulls an image with containerd, with progress from its content store. Cancels and retries a pull without progress. */
export async function pullWithContentProgress<T>(
  options: ContentPullOptions,
  call: ContentPullCall<T>,
): Promise<T> {
  const { content, clock, timeoutMs, maxRetries } = options;
  const { image, signal } = call;
  for (let retries = 0; ; retries++) {
    const stalled = new AbortController();
    const following = content.follow(
      { image, startedMs: clock.now() },
      {
        onSample(sample) {
          if (sample.state !== "resolving") call.onReport(sample.progress);
          if (isStalled(sample, timeoutMs, clock.now()))
            stalled.abort(new Error(stallMessage(image, { sample, timeoutMs })));
        },
        onUnavailable: () => call.onUnavailable?.(),
      },
    );
    try {
      return await call.pull(AbortSignal.any([signal, stalled.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!stalled.signal.aborted) throw error;
      const { message } = stalled.signal.reason;
      const isLast = retries === maxRetries;
      call.onStall?.(isLast ? message : `${message}; retry ${retries + 1} of ${maxRetries}`);
      if (isLast) throw new Error(message, { cause: error });
    } finally {
      await following.stop();
    }
  }
}

/** Message of a pull for which no data arrives: names the registry and the layers of which a part has arrived. */
export function stallMessage(
  image: string,
  { sample, timeoutMs }: { readonly sample: Pick<TrackedPull, "progress">; readonly timeoutMs: number },
): string {
  const name = parseImageName(image);
  const registry = "problem" in name ? undefined : name.host;
  return noProgressMessage(image, { timeoutMs, layers: sample.progress.layers, registry });
}
