import { setMaxListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Client } from "../client/api/client.ts";
import { createEventRecorder, type EventRecorder } from "../client/events/event-recorder.ts";
import { isNotFound } from "../client/transport/status-errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { messageOf } from "../lib/message-of.ts";
import type { Metrics } from "../lib/metrics/metrics.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import { type Choice, chooseNode } from "./cycle/choose-node.ts";
import { createOutcomeWriter, type Failure } from "./cycle/outcome-writer.ts";
import { registerHandlers } from "./cycle/register-handlers.ts";
import { createClusterState } from "./model/cluster-state.ts";
import { createInformers } from "./model/informers.ts";
import { createSchedulingMetrics } from "./queue/scheduling-metrics.ts";
import { createSchedulingQueue, type Outcome, type QueuedPod } from "./queue/scheduling-queue.ts";
import { awaitVolumes, createAssumedVolumes, writeVolumes } from "./volumes/bind-volumes.ts";
import type { VolumePlan } from "./volumes/plan-volumes.ts";

export interface SchedulerOptions {
  readonly client: Client;
  /** Pods with this `spec.schedulerName` are scheduled. Default: default-scheduler. */
  readonly schedulerName?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
  /** Registry for the scheduler's metrics. Default: none. */
  readonly metrics?: Metrics;
}

export interface Scheduler {
  /** Schedules pods until the signal aborts. All state comes from the API, so it can be restarted. */
  run(signal: AbortSignal): Promise<void>;
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  const {
    client,
    schedulerName = "default-scheduler",
    clock,
    logger,
    random = Math.random,
    metrics,
  } = options;
  return {
    async run(signal) {
      const ended = new AbortController();
      const stopped = AbortSignal.any([signal, ended.signal]);
      // Every binding in progress adds a listener.
      setMaxListeners(0, stopped);
      const recorder = createEventRecorder({
        client,
        component: schedulerName,
        clock,
        logger,
        writers: eventWriters,
      });
      const recording = recorder.run(stopped);
      try {
        await runScheduler({ client, schedulerName, clock, logger, random, metrics, recorder }, stopped);
      } finally {
        ended.abort();
        await recording;
      }
    },
  };
}

interface SchedulerDeps {
  readonly client: Client;
  readonly schedulerName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly metrics: Metrics | undefined;
  readonly recorder: EventRecorder;
}

/** Concurrent event writes. With a single writer, one event per bound pod would accumulate a backlog. */
const eventWriters = 8;
/** Maximum number of outcomes that are written concurrently. */
const maxWriting = 64;
/** Maximum time for consecutive decisions before yielding to the event loop. */
const maxDecisionTurnMs = 5;

async function runScheduler(deps: SchedulerDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, schedulerName, random, metrics, recorder } = deps;
  const informers = createInformers({ client, clock, logger });
  const assumed = createAssumedVolumes(informers.objects);
  const state = createClusterState(assumed.objects);
  const queue = createSchedulingQueue();
  const schedulingMetrics = metrics && createSchedulingMetrics(metrics, schedulerName);
  const work = createWakeUp();
  const volumeChanges = createWakeUp();
  const outcomes = createOutcomeWriter({
    client,
    recorder,
    clock,
    logger,
    waitingPod({ key, uid }) {
      const pod = informers.pods.get(key);
      return pod?.metadata.uid === uid && !pod.spec?.nodeName && queue.has(uid) ? pod : undefined;
    },
  });
  /** Aborts the binding in progress of a pod, by UID. */
  const stops = new Map<string, AbortController>();
  signal.addEventListener(
    "abort",
    () => {
      for (const stop of stops.values()) stop.abort(signal.reason);
    },
    { once: true },
  );
  const tasks = new Set<Promise<void>>();
  let waitingForVolumes = 0;
  let startAt = 0;

  const requeueOnChange = registerHandlers({
    informers,
    state,
    queue,
    schedulerName,
    clock,
    onChange: work.wake,
    onPodLeaving: (uid) => stops.get(uid)?.abort(new Error("the pod was deleted")),
    onVolumesChange: volumeChanges.wake,
  });

  function start(task: Promise<void>): void {
    const ended = task
      .catch((error) => {
        if (!signal.aborted) logger.error("a scheduler task failed", { error });
      })
      .finally(() => {
        tasks.delete(ended);
        work.wake();
      });
    tasks.add(ended);
  }

  function decide(queued: QueuedPod): void {
    const { info } = queued;
    let choice: Choice;
    try {
      choice = chooseNode(info, state, { random, startAt });
    } catch (error) {
      requeueFailed(queued, { reason: "SchedulerError", message: messageOf(error) }, undefined);
      return;
    }
    if (choice.kind === "none") {
      requeueFailed(queued, { reason: "Unschedulable", message: choice.message }, choice);
      return;
    }
    startAt = (startAt + choice.examined) % Math.max(1, state.nodes.length);
    state.assumePod(info, choice.nodeName);
    start(bind(queued, choice));
  }

  /** Requeues the pod and reports the failure. */
  function requeueFailed(queued: QueuedPod, failure: Failure, outcome: Outcome): void {
    const { info } = queued;
    // The pod may have been bound or deleted in the meantime.
    if (!queue.has(info.uid)) return;
    schedulingMetrics?.observe(outcome ? "unschedulable" : "error", queued, clock.now());
    queue.requeue(info.uid, outcome, clock.now());
    logger.debug("pod is not scheduled", { pod: info.key, ...failure });
    start(outcomes.recordUnschedulable(info, failure, signal));
  }

  async function bind(
    queued: QueuedPod,
    { nodeName, volumes }: Extract<Choice, { kind: "node" }>,
  ): Promise<void> {
    const { info } = queued;
    const stop = new AbortController();
    const release = assumed.assume(volumes, nodeName);
    stops.set(info.uid, stop);
    try {
      await bindVolumes(volumes, nodeName, stop.signal);
      await outcomes.bind(info, nodeName, stop.signal);
      schedulingMetrics?.observe("scheduled", queued, clock.now());
      queue.remove(info.uid);
    } catch (error) {
      if (state.forgetPod(info.uid))
        requeueOnChange({ kind: "podGone", pod: info, node: state.node(nodeName) });
      if (stop.signal.aborted || isNotFound(error)) queue.remove(info.uid);
      else requeueFailed(queued, { reason: "SchedulerError", message: messageOf(error) }, undefined);
    } finally {
      stops.delete(info.uid);
      release();
    }
  }

  async function bindVolumes(plan: VolumePlan, nodeName: string, stopped: AbortSignal): Promise<void> {
    if (plan.bindings.length === 0 && plan.provisions.length === 0) return;
    const replaced = await writeVolumes({ client }, plan, { nodeName, signal: stopped });
    const reading = { client, objects: informers.objects, node: state.node, changes: volumeChanges, clock };
    waitingForVolumes++;
    work.wake();
    try {
      await awaitVolumes(reading, plan, { nodeName, replaced, signal: stopped });
    } finally {
      waitingForVolumes--;
    }
  }

  const isBusy = () => tasks.size - waitingForVolumes >= maxWriting;

  async function decideAll(): Promise<void> {
    let turnStartedAt = clock.now();
    while (!isBusy() && !signal.aborted) {
      const queued = queue.pop(clock.now());
      if (!queued) return;
      decide(queued);
      if (clock.now() - turnStartedAt < maxDecisionTurnMs) continue;
      await nextTurn();
      turnStartedAt = clock.now();
    }
  }

  async function loop(): Promise<void> {
    await informers.synced;
    logger.info("the scheduler is ready", { schedulerName, nodes: state.nodes.length });
    while (!signal.aborted) {
      const more = work.next();
      await decideAll();
      const nextAt = isBusy() ? Number.POSITIVE_INFINITY : queue.nextAt();
      await more.orAt(nextAt, { clock, signal });
    }
  }

  const stopTracking = schedulingMetrics?.trackPending(queue.pending);
  const watching = informers.run(signal);
  await loop()
    .catch((error) => {
      if (!signal.aborted) throw error;
    })
    .finally(stopTracking);
  await Promise.all([watching, ...tasks]);
}
