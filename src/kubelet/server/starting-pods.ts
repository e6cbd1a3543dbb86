import type { Pod } from "../../api/meta/objects.ts";
import { containersOf } from "../../api/pod/pod-containers.ts";
import type { StartupBudget } from "../../api/pod/startup-budget.ts";
import { HttpError, type RequestPath } from "../../lib/http/http-exchange.ts";
import { runtimeContainerId } from "../model/pod-names.ts";
import type { NodeProber } from "../probes/create-prober.ts";
import type { StartupProbeAdvice } from "../probes/startup-advice.ts";
import type { ServedPods } from "./served-pods.ts";

export interface StartupProbesDeps {
  readonly pods: ServedPods;
  readonly probes: Pick<NodeProber, "startupBudget" | "startupAdvice">;
}

type OfContainer<T> = T & { readonly container: string };

/**
 * Response of `/startupProbes/NAMESPACE/POD`: the startup budget of each container that has not started yet, and the
 * proposed startup probe of each container with enough observed starts.
 */
export function listStartupProbes(
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
      const advice = probes.startupAdvice(pod, container);
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
