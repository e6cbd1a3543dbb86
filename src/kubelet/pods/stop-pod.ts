// Clauses: 950-3
import { status } from "@grpc/grpc-js";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { findContainer } from "../../api/pod/pod-containers.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import { createChildAbort } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import type { Logger } from "../../lib/logger.ts";
import { containerFieldPath } from "../model/cri-labels.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed-pod.ts";
import { runLifecycleHook } from "./run-lifecycle-hook.ts";

export interface KillDeps {
  readonly cri: CriClient;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface StopOptions {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly graceSeconds: number;
  readonly signal: AbortSignal;
}

/** Stops main containers in parallel, then sidecars in reverse order of their start, then the sandboxes. */
export async function stopPod(deps: KillDeps, options: StopOptions): Promise<void> {
  const { pod, observed, graceSeconds, signal } = options;
  if (!observed) return;
  const running = observed.containers.filter(({ state }) => state.kind !== "exited");
  const stopped = new Map<string, Promise<void>>();
  for (const wave of stopWaves(
    pod,
    running.map(({ name }) => name),
  )) {
    const before = Promise.allSettled(stopped.values()).then(() => {});
    const ofWave = running.filter(({ name }) => wave.includes(name));
    for (const container of ofWave) {
      const killed = killContainer(deps, {
        pod,
        observed: container,
        podIp: observed.sandboxes[0]?.ips[0],
        message: `Stopping container ${container.name}`,
        gracePeriodSeconds: graceSeconds,
        stopAfter: before,
        signal,
      });
      stopped.set(container.id, killed);
    }
  }
  await Promise.all(stopped.values());
  await Promise.all(
    observed.sandboxes
      .filter(({ ready }) => ready)
      .map(({ id }) => deps.cri.runtime.stopPodSandbox({ podSandboxId: id }, { signal })),
  );
}

/** Names of running containers in the order in which they are stopped; each inner array is stopped in parallel. */
export function stopWaves(pod: Pod, running: readonly string[]): readonly (readonly string[])[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const others = running.filter((name) => !sidecars.includes(name));
  return [others, ...sidecars.toReversed().map((name) => [name])].filter((wave) => wave.length > 0);
}

export interface KillOptions {
  readonly pod: Pod;
  readonly observed: ObservedContainer;
  readonly podIp: string | undefined;
  /** Message of the Killing event. */
  readonly message: string;
  readonly gracePeriodSeconds: number;
  /** Delays the stop signal, but not the preStop hook, until it resolves or the grace period is over. */
  readonly stopAfter?: Promise<void>;
  readonly signal: AbortSignal;
}

/** Minimum grace period, also after a preStop hook that used up the whole grace period. */
const minGraceMs = 2_000;
/** Time beyond the grace period after which StopContainer counts as failed. */
const stopSlackMs = 120_000;

/** Runs the preStop hook, then sends the stop signal; the runtime kills the container when the grace period is over. */
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
  // Only a running container can run its hook.
  const runsHook = observed.state.kind === "running" && options.gracePeriodSeconds > 0;
  if (spec?.lifecycle?.preStop && runsHook) {
    await runPreStop(deps, { ...options, container: spec, deadline });
  }
  if (options.stopAfter) await beforeDeadline(clock, options.stopAfter, { deadline, signal });
  const graceMs = Math.max(deadline - clock.now(), minGraceMs);
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
  const expired = createChildAbort(signal);
  const hook = runLifecycleHook(deps, handler, {
    pod,
    container,
    containerId: observed.id,
    podIp,
    signal: expired.signal,
  }).catch((error) => {
    signal.throwIfAborted();
    if (expired.signal.aborted) return;
    deps.logger.info("preStop hook failed", { pod: pod.metadata.name, container: container.name, error });
    deps.recorder.record(pod, {
      type: "Warning",
      reason: "FailedPreStopHook",
      message: "PreStopHook failed",
      fieldPath: containerFieldPath(pod, container.name),
    });
  });
  await beforeDeadline(deps.clock, hook, { deadline, signal });
  expired.abort();
}

/** Waits for `work`, at most until the deadline. */
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
