import type { Container, PodSandbox } from "../../cri/generated/cri.ts";

/** What the runtime lists under one pod's uid. */
export interface PodListing {
  readonly uid: string;
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
}

const uidLabel = "io.kubernetes.pod.uid";

/** Groups what a runtime lists by the pods that a kubelet made it for; what nobody labelled is not a kubelet's. */
export function listByPod(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
): ReadonlyMap<string, PodListing> {
  const listings = new Map<string, { uid: string; sandboxes: PodSandbox[]; containers: Container[] }>();
  const listingOf = (uid: string) => {
    const known = listings.get(uid);
    if (known) return known;
    const made = { uid, sandboxes: [], containers: [] };
    listings.set(uid, made);
    return made;
  };
  for (const sandbox of sandboxes) {
    const uid = sandbox.labels[uidLabel];
    if (uid) listingOf(uid).sandboxes.push(sandbox);
  }
  for (const container of containers) {
    const uid = container.labels[uidLabel];
    if (uid) listingOf(uid).containers.push(container);
  }
  return listings;
}

/** Changes whenever a sandbox or container of the pod comes, goes or changes its state. */
export function fingerprint({ sandboxes, containers }: PodListing): string {
  return [...sandboxes, ...containers]
    .map(({ id, state }) => `${id}:${state}`)
    .sort()
    .join(" ");
}
