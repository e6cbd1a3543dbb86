import type { Container, Pod } from "../api/objects.ts";
import type { ObservedContainer, ObservedPod } from "./observed-pod.ts";

/** Pods that the runtime has and no source asks for, as far as they can be told from what the runtime knows. */
export function findOrphans(observed: Iterable<ObservedPod>, isWanted: (podUid: string) => boolean): Pod[] {
  return [...observed].filter(({ uid }) => !isWanted(uid)).map(restorePod);
}

/** With all that it takes to end it as its spec said. */
function restorePod({ uid, namespace, name, containers }: ObservedPod): Pod {
  // Newest first.
  const terminationGracePeriodSeconds = containers[0]?.graceSeconds;
  const restored = new Map<string, Container>();
  for (const container of containers.toReversed()) restored.set(container.name, restoreContainer(container));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { uid, namespace, name },
    spec: {
      ...(terminationGracePeriodSeconds !== undefined && { terminationGracePeriodSeconds }),
      containers: [...restored.values()],
    },
  };
}

function restoreContainer({ name, preStop, ports }: ObservedContainer): Container {
  return { name, ...(ports && { ports }), ...(preStop && { lifecycle: { preStop } }) };
}
