import type { Pod, PodCondition } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import type { PodInfo } from "../model/pod-info.ts";

export interface OutcomeWriterDeps {
  readonly client: Pick<Client, "request" | "patch" | "get">;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the pod from the informer cache, or undefined when it is bound, deleted or replaced. */
  waitingPod(info: PodInfo): Pod | undefined;
}

/** Writes scheduling outcomes to the API, serialized per pod so that a failure never arrives after a later binding. */
export interface OutcomeWriter {
  /** Throws when the API server rejects the binding or cannot be reached. */
  bind(info: PodInfo, nodeName: string, signal: AbortSignal): Promise<void>;
  recordUnschedulable(info: PodInfo, failure: Failure, signal: AbortSignal): Promise<void>;
}

const maxTries = 3;

export function createOutcomeWriter(deps: OutcomeWriterDeps): OutcomeWriter {
  const { client, recorder, clock, logger, waitingPod } = deps;
  const perPod = createKeyedMutex();

  /**
   * Sends the observed resourceVersion, so that a condition that was computed before another scheduler bound the pod is
   * not written afterwards.
   */
  async function writeCondition(info: PodInfo, failure: Failure, signal: AbortSignal): Promise<void> {
    const { namespace, name = "", uid } = info.pod.metadata;
    let pod = waitingPod(info);
    for (let tries = 0; pod && tries < maxTries; tries++) {
      const condition = failedCondition(pod, failure, clock.now());
      if (!condition) return;
      const { resourceVersion } = pod.metadata;
      const body = { metadata: { uid, resourceVersion }, status: { conditions: [condition] } };
      const patch = { kind: "strategic", body } as const;
      try {
        await client.patch("pods", { namespace, name }, { patch, subresource: "status", signal });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
      pod = await client.get("pods", { namespace, name }, { signal });
      if (pod.metadata.uid !== uid || pod.spec?.nodeName) return;
    }
  }

  return {
    async bind(info, nodeName, signal) {
      await perPod.run(info.key, () => postBinding(client, info, { nodeName, signal }));
      const message = `Successfully assigned ${info.key} to ${nodeName}`;
      recorder.record(info.pod, { type: "Normal", reason: "Scheduled", message });
    },
    async recordUnschedulable(info, failure, signal) {
      const message = shortenNote(failure.message);
      recorder.record(info.pod, { type: "Warning", reason: "FailedScheduling", message });
      try {
        await perPod.run(info.key, () => writeCondition(info, failure, signal));
      } catch (error) {
        // The condition is written again with the next attempt.
        if (!isNotFound(error)) {
          logger.debug("failed to write the PodScheduled condition", { pod: info.key, error });
        }
      }
    },
  };
}

async function postBinding(
  client: OutcomeWriterDeps["client"],
  { pod }: PodInfo,
  { nodeName, signal }: { nodeName: string; signal: AbortSignal },
): Promise<void> {
  const { namespace = "", name = "", uid } = pod.metadata;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/binding`;
  const metadata = { namespace, name, uid };
  const target = { kind: "Node", name: nodeName };
  await client.request("POST", path, {
    body: { apiVersion: "v1", kind: "Binding", metadata, target },
    signal,
  });
}

/** Reason why a pod was not scheduled: no feasible node, or the attempt failed. */
export interface Failure {
  readonly reason: "Unschedulable" | "SchedulerError";
  readonly message: string;
}

/** Computes the PodScheduled condition, or undefined when the pod already has it. */
export function failedCondition(
  { metadata, status }: Pod,
  failure: Failure,
  now: number,
): PodCondition | undefined {
  const known = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const { generation } = metadata;
  const isKnown =
    known?.status === "False" &&
    known.reason === failure.reason &&
    known.message === failure.message &&
    known.observedGeneration === generation;
  if (isKnown) return undefined;
  return {
    type: "PodScheduled",
    status: "False",
    ...failure,
    ...(generation !== undefined && { observedGeneration: generation }),
    // lastTransitionTime changes with the status only, not with the message.
    lastTransitionTime:
      known?.status === "False" && known.lastTransitionTime ? known.lastTransitionTime : formatTime(now),
  };
}

const maxNote = 1_024;

/** Shortens a message to the maximum length of an event note. */
export function shortenNote(message: string): string {
  return message.length <= maxNote ? message : `${message.slice(0, maxNote - 4)} ...`;
}
