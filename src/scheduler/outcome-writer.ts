import type { Pod } from "../api/objects.ts";
import type { Client } from "../client/client.ts";
import type { EventRecorder } from "../client/event-recorder.ts";
import { isConflict, isNotFound } from "../client/status-errors.ts";
import type { Clock } from "../lib/clock.ts";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { Logger } from "../lib/logger.ts";
import { type Failure, failedCondition, shortenNote } from "./pod-condition.ts";
import type { PodInfo } from "./pod-info.ts";

export interface OutcomeWriterDeps {
  readonly client: Pick<Client, "request" | "patch" | "get">;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The pod as the API has it, while it still waits for a node. */
  waitingPod(info: PodInfo): Pod | undefined;
}

/** Tells the API what came of a pod, one thing after the other: a refusal must not arrive after the binding that followed. */
export interface OutcomeWriter {
  /** Throws when the API refuses, or cannot be reached. */
  bind(info: PodInfo, nodeName: string, signal: AbortSignal): Promise<void>;
  refuse(info: PodInfo, failure: Failure, signal: AbortSignal): Promise<void>;
}

const maxTries = 3;

export function createOutcomeWriter(deps: OutcomeWriterDeps): OutcomeWriter {
  const { client, recorder, clock, logger, waitingPod } = deps;
  const perPod = createKeyedMutex();

  /**
   * With the version that was looked at: a condition that was decided on before somebody bound the pod must not be written
   * after that.
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
    async refuse(info, failure, signal) {
      const message = shortenNote(failure.message);
      recorder.record(info.pod, { type: "Warning", reason: "FailedScheduling", message });
      try {
        await perPod.run(info.key, () => writeCondition(info, failure, signal));
      } catch (error) {
        // It is said again with the next try.
        if (!isNotFound(error)) logger.debug("cannot say that a pod has no node", { pod: info.key, error });
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
