import { setMaxListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import { createEventRecorder, type EventRecorder } from "../client/event-recorder.ts";
import { isNotFound } from "../client/status-errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { messageOf } from "../lib/message-of.ts";
import type { Metrics } from "../lib/metrics.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import { type Choice, chooseNode } from "./choose-node.ts";
import { createClusterState } from "./cluster-state.ts";
import { followCluster } from "./follow-cluster.ts";
import { createOutcomeWriter } from "./outcome-writer.ts";
import type { Failure } from "./pod-condition.ts";
import { createSchedulingMetrics } from "./scheduling-metrics.ts";
import { createSchedulingQueue, type Outcome, type QueuedPod } from "./scheduling-queue.ts";
import { openSources } from "./sources.ts";
import { createAssumedVolumes } from "./volume/assumed-volumes.ts";
import { awaitVolumes, writeVolumes } from "./volume/bind-volumes.ts";
import type { VolumePlan } from "./volume/plan-volumes.ts";

export interface SchedulerOptions {
  readonly client: Client;
  /** Of the pods that it cares for, by their `spec.schedulerName`. */
  readonly schedulerName?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
  /** Where it counts what it does; without it nobody counts. */
  readonly metrics?: Metrics;
}

export interface Scheduler {
  /** Gives pods nodes until the signal aborts. All that it knows comes from the API: it can run again, or elsewhere. */
  run(signal: AbortSignal): Promise<void>;
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { client, schedulerName = "default-scheduler", clock, logger } = options;
  return {
    async run(signal) {
      const ended = new AbortController();
      const stopped = AbortSignal.any([signal, ended.signal]);
      // Everything under way listens to it.
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
        await runScheduler({ ...options, recorder, schedulerName }, stopped);
      } finally {
        ended.abort();
        await recording;
      }
    },
  };
}

type Deps = SchedulerOptions & { readonly schedulerName: string; readonly recorder: EventRecorder };

/** One event for each pod that gets a node: one at a time they would fall behind. */
const eventWriters = 8;
/** Pods whose outcomes are written at the same time. */
const maxWriting = 64;
/** How long decisions may follow each other before others in this process get their turn. */
const longestTurnMs = 5;

async function runScheduler(deps: Deps, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, schedulerName, random = Math.random } = deps;
  const sources = openSources({ client, clock, logger });
  const assumed = createAssumedVolumes(sources.objects);
  const state = createClusterState(assumed.objects);
  const queue = createSchedulingQueue();
  const measured = deps.metrics && createSchedulingMetrics(deps.metrics, schedulerName);
  const work = createWakeUp();
  const volumeChanges = createWakeUp();
  const outcomes = createOutcomeWriter({
    ...deps,
    waitingPod({ key, uid }) {
      const pod = sources.pods.get(key);
      return pod?.metadata.uid === uid && !pod.spec?.nodeName && queue.has(uid) ? pod : undefined;
    },
  });
  /** Stops what is under way for a pod. */
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

  const tellChange = followCluster({
    sources,
    state,
    queue,
    schedulerName,
    clock,
    onChange: work.wake,
    onPodLeaving: (uid) => stops.get(uid)?.abort(new Error("the pod is gone")),
    onVolumesChange: volumeChanges.wake,
  });

  function start(task: Promise<void>): void {
    const ended = task
      .catch((error) => {
        if (!signal.aborted) logger.error("a task of the scheduler failed", { error });
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
      giveUp(queued, { reason: "SchedulerError", message: messageOf(error) }, undefined);
      return;
    }
    if (choice.kind === "none") {
      giveUp(queued, { reason: "Unschedulable", message: choice.message }, choice);
      return;
    }
    startAt = (startAt + choice.examined) % Math.max(1, state.nodes.length);
    state.assumePod(info, choice.nodeName);
    start(bind(queued, choice));
  }

  /** For now: it is tried again when something changes, or after a while. */
  function giveUp(queued: QueuedPod, failure: Failure, outcome: Outcome): void {
    const { info } = queued;
    // The API may say by now that it has a node, or that it is gone.
    if (!queue.has(info.uid)) return;
    measured?.observe(outcome ? "unschedulable" : "error", queued, clock.now());
    queue.giveBack(info.uid, outcome, clock.now());
    logger.debug("a pod gets no node", { pod: info.key, ...failure });
    start(outcomes.refuse(info, failure, signal));
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
      measured?.observe("scheduled", queued, clock.now());
      queue.remove(info.uid);
    } catch (error) {
      if (state.forgetPod(info.uid)) tellChange({ kind: "podGone", pod: info, node: state.node(nodeName) });
      if (stop.signal.aborted || isNotFound(error)) queue.remove(info.uid);
      else giveUp(queued, { reason: "SchedulerError", message: messageOf(error) }, undefined);
    } finally {
      stops.delete(info.uid);
      release();
    }
  }

  async function bindVolumes(plan: VolumePlan, nodeName: string, stopped: AbortSignal): Promise<void> {
    if (plan.bindings.length === 0 && plan.provisions.length === 0) return;
    const replaced = await writeVolumes({ client }, plan, { nodeName, signal: stopped });
    const reading = { client, objects: sources.objects, node: state.node, changes: volumeChanges, clock };
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
      const queued = queue.take(clock.now());
      if (!queued) return;
      decide(queued);
      if (clock.now() - turnStartedAt < longestTurnMs) continue;
      await nextTurn();
      turnStartedAt = clock.now();
    }
  }

  async function loop(): Promise<void> {
    await sources.synced;
    logger.info("scheduling", { schedulerName, nodes: state.nodes.length });
    while (!signal.aborted) {
      const more = work.next();
      await decideAll();
      const nextAt = isBusy() ? Number.POSITIVE_INFINITY : queue.nextAt();
      await more.orAt(nextAt, { clock, signal });
    }
  }

  const unfollow = measured?.follow(queue.pending);
  const following = sources.run(signal);
  await loop()
    .catch((error) => {
      if (!signal.aborted) throw error;
    })
    .finally(unfollow);
  await Promise.all([following, ...tasks]);
}
