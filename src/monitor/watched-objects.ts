import { controllerOf } from "../api/controller-reference.ts";
import type { PersistentVolumeClaim, Pod } from "../api/objects.ts";
import { createInformer, type Informer, type InformerOptions } from "../client/informer.ts";
import { createSharedTexts } from "./measure/shared-texts.ts";
import { type TrimOptions, trimPod } from "./measure/trim-pod.ts";

export interface WatchedObjects {
  /** Found by the uid of their controller, too. */
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
}

/** What the monitor keeps of a cluster: thousands of pods, so of each only what it reads, and equal texts once. */
export function createWatchedObjects(
  deps: Pick<InformerOptions<"pods">, "client" | "clock" | "logger">,
  options: Omit<TrimOptions, "share">,
): WatchedObjects {
  const share = createSharedTexts();
  return {
    pods: createInformer({
      ...deps,
      resource: "pods",
      trim: (pod) => trimPod(pod, { ...options, share }),
      indexes: {
        owner(pod) {
          const owner = controllerOf(pod);
          return owner ? [owner.uid] : [];
        },
      },
    }),
    claims: createInformer({
      ...deps,
      resource: "persistentvolumeclaims",
      trim: (claim) => trimClaim(claim, share),
    }),
  };
}

function trimClaim(
  { apiVersion, kind, metadata, spec }: PersistentVolumeClaim,
  share: (text: string) => string,
): PersistentVolumeClaim {
  const { namespace, name, uid, resourceVersion } = metadata;
  const { storageClassName } = spec ?? {};
  return {
    apiVersion,
    kind,
    metadata: { namespace: namespace && share(namespace), name, uid, resourceVersion },
    spec: { storageClassName: storageClassName && share(storageClassName) },
  };
}
