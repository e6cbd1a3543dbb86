import { status } from "@grpc/grpc-js";
import type { Container, Pod } from "../../api/objects.ts";
import { findContainer } from "../../api/pod-containers.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { createChildAbort } from "../../lib/child-abort.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { Logger } from "../../lib/logger.ts";
import { containerFieldPath } from "../container-field-path.ts";
import type { ObservedContainer } from "../observed-pod.ts";
import { runLifecycleHook } from "./run-lifecycle-hook.ts";

export interface KillDeps {
  readonly cri: CriClient;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KillOptions {
  readonly pod: Pod;
  readonly observed: ObservedContainer;
  readonly podIp: string | undefined;
  /** What the event says. */
  readonly message: string;
  readonly gracePeriodSeconds: number;
  /** Resolves when it is this container's turn to be stopped; its preStop hook does not wait for it. */
  readonly turn?: Promise<void>;
  readonly signal: AbortSignal;
}

/** Everybody gets this long, also whom a hook or a deletion left nothing. */
const leastGraceMs = 2_000;
/** What StopContainer may take beyond the grace period until it counts as failed. */
const stopSlackMs = 120_000;

/** preStop, then the stop signal, then, when the grace period is over, the end. */
export async function killContainer(deps: KillDeps, options: KillOptions): Promise<void> {
  const { cri, recorder, clock } = deps;
  const { pod, observed, signal } = options;
  const spec = findContainer(pod.spec, observed.name);
  recorder.record(pod, {
    type: "Normal",
    reason: "Killing",
    message: options.message,
    fieldPath: containerFieldPath(pod, observed.name),
  });
  const deadline = clock.now() + options.gracePeriodSeconds * 1_000;
  // One that never ran, or that nobody knows to run, has nothing to bring to an end.
  const hears = observed.state.kind === "running" && options.gracePeriodSeconds > 0;
  if (spec?.lifecycle?.preStop && hears) {
    await runPreStop(deps, { ...options, container: spec, deadline });
  }
  if (options.turn) await beforeDeadline(clock, options.turn, { deadline, signal });
  const graceMs = Math.max(deadline - clock.now(), leastGraceMs);
  try {
    await cri.runtime.stopContainer(
      { containerId: observed.id, timeout: BigInt(Math.ceil(graceMs / 1_000)) },
      { signal, timeoutMs: graceMs + stopSlackMs },
    );
  } catch (error) {
    if (!isGrpcError(error, status.NOT_FOUND)) throw error;
  }
}

async function runPreStop(
  deps: KillDeps,
  {
    pod,
    observed,
    podIp,
    container,
    deadline,
    signal,
  }: KillOptions & { container: Container; deadline: number },
): Promise<void> {
  const handler = container.lifecycle?.preStop;
  if (!handler) return;
  const ended = createChildAbort(signal);
  const hook = runLifecycleHook(deps, handler, {
    pod,
    container,
    containerId: observed.id,
    podIp,
    signal: ended.signal,
  }).catch((error) => {
    signal.throwIfAborted();
    if (ended.signal.aborted) return;
    deps.logger.info("a preStop hook failed", { pod: pod.metadata.name, container: container.name, error });
    deps.recorder.record(pod, {
      type: "Warning",
      reason: "FailedPreStopHook",
      message: "PreStopHook failed",
      fieldPath: containerFieldPath(pod, container.name),
    });
  });
  await beforeDeadline(deps.clock, hook, { deadline, signal });
  ended.abort();
}

/** Waits for `work`, but not longer than until the deadline. */
async function beforeDeadline(
  clock: Clock,
  work: Promise<void>,
  { deadline, signal }: { deadline: number; signal: AbortSignal },
): Promise<void> {
  const waited = createChildAbort(signal);
  const timer = clock
    .sleep(Math.max(0, deadline - clock.now()), waited.signal)
    .catch(() => signal.throwIfAborted());
  try {
    await Promise.race([work, timer]);
  } finally {
    waited.abort();
  }
}
