import type { Pod } from "../api/objects.ts";
import type { ObservedPod } from "./observed-pod.ts";

/** Pods that the runtime has and no source asks for, as far as they can be told from what the runtime knows. */
export function findOrphans(observed: Iterable<ObservedPod>, isWanted: (podUid: string) => boolean): Pod[] {
  return [...observed]
    .filter(({ uid }) => !isWanted(uid))
    .map(({ uid, namespace, name, containers }) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { uid, namespace, name },
      spec: {
        containers: [...new Set(containers.map((container) => container.name))].map((containerName) => ({
          name: containerName,
        })),
      },
    }));
}
