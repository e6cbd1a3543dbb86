import type { EndpointSlice, Pod, Service } from "../../api/meta/objects.ts";
import { keyOf } from "../../client/informers/object-cache.ts";

/** Times of the changes that lead to writes of slices. Service proxies measure their latency by them. */
export interface TriggerTimes {
  /**
   * Returns the time of the earliest change since the last call for the service: its creation, or the last transition of
   * a pod's readiness. Undefined if nothing with a time has changed.
   */
  observe(service: Service, pods: readonly Pod[]): string | undefined;
  forget(service: string): void;
}

export function createTriggerTimes(): TriggerTimes {
  /** Transitions of the pods of each service at the last call, by pod. */
  const observed = new Map<string, ReadonlyMap<string, string>>();
  return {
    observe(service, pods) {
      const before = observed.get(keyOf(service));
      const transitions = new Map(
        pods.flatMap((pod) => {
          const at = pod.status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
          return at ? [[pod.metadata.name ?? "", at] as const] : [];
        }),
      );
      observed.set(keyOf(service), transitions);
      if (!before) return service.metadata.creationTimestamp;
      const changes = [...transitions].filter(([name, at]) => at > (before.get(name) ?? ""));
      return changes.map(([, at]) => at).sort()[0];
    },
    forget: (service) => void observed.delete(service),
  };
}

const annotation = "endpoints.kubernetes.io/last-change-trigger-time";

/** Sets the time of the change that leads to a write of the slice, or removes that of an earlier write. */
export function withTriggerTime(slice: EndpointSlice, at: string | undefined): EndpointSlice {
  const { [annotation]: _, ...others } = slice.metadata.annotations ?? {};
  const annotations = at === undefined ? others : { ...others, [annotation]: at };
  return { ...slice, metadata: { ...slice.metadata, annotations } };
}
