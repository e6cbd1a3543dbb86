import {
  type Container,
  ContainerState as CriState,
  type PodSandbox,
  PodSandboxState,
} from "../../cri/generated/cri.ts";
import type { ContainerState, ObservedPod } from "../observed-pod.ts";
import { podLabels } from "./cri-labels.ts";

/** What the runtime lists under one pod's uid. */
export interface PodListing {
  readonly uid: string;
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
}

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
    const uid = sandbox.labels[podLabels.uid];
    if (uid) listingOf(uid).sandboxes.push(sandbox);
  }
  for (const container of containers) {
    const uid = container.labels[podLabels.uid];
    if (uid) listingOf(uid).containers.push(container);
  }
  return listings;
}

/** Whether what is known of a pod is what the runtime lists of it: all that is there, in the states it is in. */
export function isCurrent(observed: ObservedPod | undefined, listing: PodListing): boolean {
  const known = [
    ...(observed?.sandboxes ?? []).map(({ id, ready }) => `${id} ${ready}`),
    ...(observed?.containers ?? []).map(({ id, state }) => `${id} ${state.kind}`),
  ];
  const listed = new Set([
    ...listing.sandboxes.map(({ id, state }) => `${id} ${state === PodSandboxState.SANDBOX_READY}`),
    ...listing.containers.map(({ id, state }) => `${id} ${stateKinds.get(state) ?? "unknown"}`),
  ]);
  return known.length === listed.size && known.every((one) => listed.has(one));
}

const stateKinds: ReadonlyMap<CriState, ContainerState["kind"]> = new Map([
  [CriState.CONTAINER_CREATED, "created"],
  [CriState.CONTAINER_RUNNING, "running"],
  [CriState.CONTAINER_EXITED, "exited"],
]);
