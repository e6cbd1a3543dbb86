import type {
  ContainerMetadata,
  ImageSpec,
  LinuxContainerResources,
  Mount,
  NamespaceOption,
  PodSandboxMetadata,
  Signal,
} from "../../cri/generated/cri.ts";
import type { AnnotatedScripts } from "../scripts/annotations.ts";
import { invalidArgument, notFound } from "./failure.ts";
import type { ImageStore } from "./image-store.ts";

/**
 * Pods and images of a simulated node, separate from the daemon that serves them: passed to another daemon, they survive
 * like real containers.
 */
export interface SimulatedState {
  readonly sandboxes: Map<string, SandboxRecord>;
  readonly containers: Map<string, ContainerRecord>;
  /** Sandboxes by pod uid, including those being created. */
  readonly byPod: Map<string, SandboxRecord[]>;
  readonly images: ImageStore;
  readonly addresses: AddressPool;
  /** Number of consecutive scripted sandbox failures, by pod uid. */
  readonly failures: Map<string, number>;
}

/** Pod CIDR until a kubelet sets one. */
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

/** Finds a record by id or unique prefix; undefined if there is none. */
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

/** Pool of IPv4 addresses for pods. */
export interface AddressPool {
  /** Undefined when all addresses are in use. */
  take(): string | undefined;
  release(address: string): void;
  /** Allocates from another block from now on. Addresses in use stay allocated. */
  move(cidr: string): void;
  taken(): number;
}

export function createAddressPool(cidr: string): AddressPool {
  let block = parseBlock(cidr);
  // Round-robin, so that a released address is not reused immediately.
  let next = 0;
  const taken = new Set<string>();
  return {
    take() {
      // Excludes the network, gateway and broadcast addresses.
      const usable = block.size - 3;
      for (let tries = 0; tries < usable; tries++) {
        const address = formatAddress(block.base + 2 + (next++ % usable));
        if (taken.has(address)) continue;
        taken.add(address);
        return address;
      }
      return undefined;
    },
    release: (address) => void taken.delete(address),
    move(other) {
      const moved = parseBlock(other);
      if (moved.base === block.base && moved.size === block.size) return;
      block = moved;
      next = 0;
    },
    taken: () => taken.size,
  };
}

function parseBlock(cidr: string): { base: number; size: number } {
  const [, address = "", bits = ""] = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr) ?? [];
  const parts = address.split(".").map(Number);
  const prefix = Number(bits);
  if (parts.length !== 4 || parts.some((part) => part > 255) || prefix < 1 || prefix > 29)
    throw new RangeError(`${cidr} is not a valid pod CIDR: write it like 10.244.0.0/16, at most /29`);
  const size = 2 ** (32 - prefix);
  const number = parts.reduce((sum, part) => sum * 256 + part, 0);
  return { base: number - (number % size), size };
}

function formatAddress(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}

// Records have only what the status of a pod shows, because there are thousands of them.

/**
 * ```
 * making ──► ready ──► notReady ──► (removed)
 *    └── failed: gone
 * ```
 */
export interface SandboxRecord {
  readonly id: string;
  readonly metadata: PodSandboxMetadata;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly handler: string;
  readonly logDirectory: string;
  readonly namespaces: NamespaceOption | undefined;
  readonly createdAt: number;
  readonly scripts: AnnotatedScripts | undefined;
  readonly containers: ContainerRecord[];
  /** Empty on the host network, or after release. */
  address: string;
  state: "making" | "ready" | "notReady";
}

export interface ContainerRecord {
  readonly id: string;
  readonly sandbox: SandboxRecord;
  readonly metadata: ContainerMetadata;
  readonly image: ImageSpec;
  readonly imageId: string;
  readonly imageRef: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly mounts: Partial<Mount>[];
  /** Path relative to the sandbox's log directory. */
  readonly logPath: string;
  readonly stopSignal: Signal;
  readonly createdAt: number;
  resources: LinuxContainerResources | undefined;
  state: ContainerState;
}

/** created ──► running ──► exited ──► (removed) */
type ContainerState =
  | { readonly kind: "created" }
  | {
      readonly kind: "running";
      readonly startedAt: number;
      /** Planned exit. */
      readonly exit?: PlannedExit;
    }
  | ExitedState;

interface ExitedState extends Ending {
  readonly kind: "exited";
  /** 0 if it never ran. */
  readonly startedAt: number;
  readonly finishedAt: number;
}

export interface Ending {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

export interface PlannedExit extends Ending {
  readonly atMs: number;
}

export const killed: Ending = { exitCode: 137, reason: "Error", message: "" };
