import type { ResourceName } from "../../client/client.ts";

/** Every kind but events: they own nothing, are owned by nobody, and are many. */
type CollectedName = Exclude<ResourceName, "events">;

const collected: Readonly<Record<CollectedName, true>> = {
  namespaces: true,
  pods: true,
  nodes: true,
  configmaps: true,
  secrets: true,
  serviceaccounts: true,
  services: true,
  endpoints: true,
  endpointslices: true,
  persistentvolumes: true,
  persistentvolumeclaims: true,
  storageclasses: true,
  runtimeclasses: true,
  priorityclasses: true,
  leases: true,
  statefulsets: true,
  controllerrevisions: true,
  deployments: true,
  replicasets: true,
  poddisruptionbudgets: true,
  roles: true,
  rolebindings: true,
  clusterroles: true,
  clusterrolebindings: true,
};

/** The kinds that the garbage collector watches. */
export const collectedResources = Object.keys(collected) as readonly CollectedName[];
