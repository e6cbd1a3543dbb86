import type { PodClass, PodRef, PodStart } from "../measure/start-signal.ts";

interface Given extends Partial<Omit<PodStart, "pod" | "class">> {
  readonly pod?: Partial<PodRef>;
  readonly class?: Partial<PodClass>;
}

/** Creates a PodStart with defaults for everything that a test does not set. */
export function podStart({ pod, class: podClass, ...rest }: Given = {}): PodStart {
  const namespace = podClass?.namespace ?? pod?.namespace ?? "shop";
  return {
    pod: { uid: "uid-1", namespace, name: "web-0", node: "node-1", ...pod },
    class: {
      namespace,
      ownerKind: "StatefulSet",
      ownerName: "web",
      revision: "web-1",
      runtimeClass: "",
      storageClasses: [],
      volumes: 0,
      chosen: {},
      ...podClass,
    },
    createdMs: 0,
    beganMs: rest.createdMs ?? 0,
    ends: {},
    pulls: [],
    restarts: 0,
    userError: undefined,
    ...rest,
  };
}
