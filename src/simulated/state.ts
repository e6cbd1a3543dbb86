import { type AddressPool, createAddressPool } from "./address-pool.ts";
import { invalidArgument, notFound } from "./failure.ts";
import type { ImageStore } from "./image/image-store.ts";
import type { ContainerRecord, SandboxRecord } from "./records.ts";

/**
 * The pods and images of a simulated node, apart from the daemon that serves them: handed to the next one they have
 * outlived it, as containers outlive a real one.
 */
export interface SimulatedState {
  readonly sandboxes: Map<string, SandboxRecord>;
  readonly containers: Map<string, ContainerRecord>;
  /** By the pod's uid, those being made included. */
  readonly byPod: Map<string, SandboxRecord[]>;
  readonly images: ImageStore;
  readonly addresses: AddressPool;
  /** By the pod's uid: how many sandboxes failed by script since the last that did not. */
  readonly failures: Map<string, number>;
}

/** Where pods have their addresses from, until a kubelet announces its own block. */
const podCidr = "10.0.0.0/8";

export function createSimulatedState(): SimulatedState {
  return {
    sandboxes: new Map(),
    containers: new Map(),
    byPod: new Map(),
    images: new Map(),
    addresses: createAddressPool(podCidr),
    failures: new Map(),
  };
}

/** By id or the beginning of one, as people type them; undefined when there is none. */
export function findOrMissing<T extends { readonly id: string }>(
  records: ReadonlyMap<string, T>,
  idOrPrefix: string,
): T | undefined {
  const exact = records.get(idOrPrefix);
  if (exact) return exact;
  if (idOrPrefix === "") throw invalidArgument("the id is missing");
  const matches: T[] = [];
  for (const [id, record] of records) if (id.startsWith(idOrPrefix)) matches.push(record);
  if (matches.length > 1) throw invalidArgument(`${idOrPrefix} is the beginning of ${matches.length} ids`);
  return matches[0];
}

export function findSandbox({ sandboxes }: SimulatedState, id: string): SandboxRecord {
  const sandbox = findOrMissing(sandboxes, id);
  if (!sandbox) throw notFound("sandbox", id);
  return sandbox;
}

export function findContainer({ containers }: SimulatedState, id: string): ContainerRecord {
  const container = findOrMissing(containers, id);
  if (!container) throw notFound("container", id);
  return container;
}

export function addToPod({ byPod }: SimulatedState, sandbox: SandboxRecord): void {
  const siblings = byPod.get(sandbox.metadata.uid);
  if (siblings) siblings.push(sandbox);
  else byPod.set(sandbox.metadata.uid, [sandbox]);
}

export function removeFromPod({ byPod }: SimulatedState, sandbox: SandboxRecord): void {
  const { uid } = sandbox.metadata;
  const siblings = byPod.get(uid) ?? [];
  if (siblings.length > 1) removeFrom(siblings, sandbox);
  else byPod.delete(uid);
}

export function removeFrom<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
