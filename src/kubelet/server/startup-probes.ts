import type { NodeProber } from "../probe/create-prober.ts";
import type { StartupBudget } from "../probe/startup-budget.ts";
import { runtimeContainerId } from "./container-id.ts";
import { HttpError } from "./http-error.ts";
import type { RequestPath } from "./request-path.ts";
import type { ServedPods } from "./served-pods.ts";

export interface StartupProbesDeps {
  readonly pods: ServedPods;
  readonly probes: Pick<NodeProber, "startupBudget">;
}

/** What `/startupProbes/NAMESPACE/POD` shows: how much of its time each container has used that has not started yet. */
export function startupProbesNow(
  { pods, probes }: StartupProbesDeps,
  { segments: [, namespace = "", name = ""] }: RequestPath,
): { readonly probes: readonly (StartupBudget & { readonly container: string })[] } {
  const pod = pods.find(namespace, name);
  if (!pod) throw new HttpError(404, `pod ${JSON.stringify(name)} does not exist`);
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return {
    probes: [...initContainerStatuses, ...containerStatuses].flatMap(
      ({ name: container, containerID = "" }) => {
        const budget = probes.startupBudget(runtimeContainerId(containerID));
        return budget ? [{ container, ...budget }] : [];
      },
    ),
  };
}
