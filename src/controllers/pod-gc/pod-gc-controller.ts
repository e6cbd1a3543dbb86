import type { Pod } from "../../api/objects.ts";
import { isConflict, isNotFound } from "../../client/status-errors.ts";
import { type ControllerContext, runController } from "../run-controller.ts";
import { decideGarbage, failedStatus } from "./decide-garbage.ts";

const everyMs = 20_000;
const keepEnded = 12_500;

/** Deletes pods that nobody else will, until the signal aborts. */
export function runPodGcController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const logger = context.logger.component("pod-gc");
  const pods = informers.of("pods");
  const nodes = informers.of("nodes");
  let missingSince: ReadonlyMap<string, number> = new Map();

  async function collect(): Promise<{ readonly againAfterMs: number }> {
    const plan = decideGarbage({
      pods: pods.list(),
      node: nodes.get,
      missingSince,
      keepEnded,
      now: clock.now(),
    });
    missingSince = plan.missingSince;
    for (const { pod, why } of plan.deletions) await remove(pod, why);
    for (const [name, orphans] of plan.orphans) {
      if (!(await isGone(name))) continue;
      for (const pod of orphans) await remove(pod, "orphan");
    }
    return { againAfterMs: everyMs };
  }

  /** The informer may be behind: what is deleted by mistake does not come back. */
  async function isGone(name: string): Promise<boolean> {
    try {
      await client.get("nodes", { name }, { signal });
      return false;
    } catch (error) {
      if (!isNotFound(error)) logger.warn("could not look for a node", { node: name, error });
      return isNotFound(error);
    }
  }

  /** One that cannot be deleted does not keep the others: it comes again the next time. */
  async function remove(pod: Pod, why: string): Promise<void> {
    const { namespace, name = "", uid } = pod.metadata;
    const status = failedStatus(pod, { orphan: why === "orphan", now: clock.now() });
    try {
      if (status) {
        const patch = { kind: "strategic", body: { metadata: { uid }, status } } as const;
        await client.patch("pods", { namespace, name }, { patch, subresource: "status", signal });
      }
      const preconditions = { uid };
      await client.delete("pods", { namespace, name }, { gracePeriodSeconds: 0, preconditions, signal });
      logger.info("deleted a pod", { pod: `${namespace}/${name}`, why });
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return;
      logger.warn("could not delete a pod", { pod: `${namespace}/${name}`, why, error });
    }
  }

  // One key for all of it: a look at every pod, again and again.
  const watch = (queue: { add(key: string): void }) => queue.add("all");
  return runController(context, { name: "pod-gc", concurrency: 1, watch, reconcile: collect }, signal);
}
