import type { Pod } from "../../api/objects.ts";
import { containersOf } from "../../api/pod-containers.ts";
import type { StartupBudget } from "../../api/startup-budget.ts";
import type { StartupProbeAdvice } from "../probe/advise-startup-probe.ts";
import type { NodeProber } from "../probe/create-prober.ts";
import { runtimeContainerId } from "./container-id.ts";
import { HttpError } from "./http-error.ts";
import type { RequestPath } from "./request-path.ts";
import type { ServedPods } from "./served-pods.ts";

export interface StartupProbesDeps {
  readonly pods: ServedPods;
  readonly probes: Pick<NodeProber, "startupBudget" | "startupAdvice">;
}

type OfContainer<T> = T & { readonly container: string };

/**
 * What `/startupProbes/NAMESPACE/POD` shows: how much of its time each container has used that has not started yet, and
 * what the startup advisor proposes for those of which it has seen enough starts.
 */
export function startupProbesNow(
  { pods, probes }: StartupProbesDeps,
  { segments: [, namespace = "", name = ""] }: RequestPath,
): {
  readonly probes: readonly OfContainer<StartupBudget>[];
  readonly advice: readonly OfContainer<StartupProbeAdvice>[];
} {
  const pod = pods.find(namespace, name);
  if (!pod) throw new HttpError(404, `pod ${JSON.stringify(name)} does not exist`);
  return {
    probes: containerIds(pod).flatMap(({ container, id }) => {
      const budget = probes.startupBudget(id);
      return budget ? [{ container, ...budget }] : [];
    }),
    advice: containersOf(pod.spec).flatMap((container) => {
      const advice = probes.startupAdvice(namespace, container);
      return advice ? [{ container: container.name, ...advice }] : [];
    }),
  };
}

function containerIds({ status }: Pod): { container: string; id: string }[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses].map(({ name, containerID = "" }) => ({
    container: name,
    id: runtimeContainerId(containerID),
  }));
}
