import { isEqual } from "../../api/meta/is-equal.ts";
import { conditionOf } from "../../api/meta/object-facts.ts";
import type { Node, NodeCondition, NodeStatus } from "../../api/meta/objects.ts";
import { formatQuantity, parseQuantity } from "../../api/meta/quantity.ts";
import type { Image } from "../../cri/generated/cri.ts";
import { nodeConditions, type PullProgressSupport } from "./node-conditions.ts";
import type { Machine, RuntimeState } from "./read-machine.ts";

/** Configured properties of the node. */
export interface NodeOptions {
  readonly name: string;
  /** Overrides the machine's addresses. */
  readonly nodeIps?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Taints for the first registration of the node only. */
  readonly taints?: readonly NonNullable<NonNullable<Node["spec"]>["taints"]>[number][];
  readonly maxPods: number;
  readonly kubeletVersion: string;
  /** Port of the kubelet's server; 0 if disabled. */
  readonly kubeletPort: number;
}

/** Input of buildNode and buildNodeStatus. */
export interface NodeStatusFacts {
  readonly options: NodeOptions;
  readonly machine: Machine;
  /** Undefined until the runtime has responded once. */
  readonly runtime: RuntimeState | undefined;
  /** Undefined until they have been listed once. */
  readonly images: readonly Image[] | undefined;
  readonly shuttingDown: boolean;
  readonly pullProgress: PullProgressSupport;
  /** Status in the API. */
  readonly previous: NodeStatus | undefined;
  readonly now: number;
}

/** Builds the node for registration, with its status, so that it can be ready from the start. */
export function buildNode(facts: NodeStatusFacts): Node {
  const { name, labels, taints } = facts.options;
  const { architecture } = facts.machine;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "beta.kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        ...labels,
      },
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
    spec: taints?.length ? { taints: [...taints] } : {},
    status: buildNodeStatus(facts),
  };
}

export function buildNodeStatus(facts: NodeStatusFacts): NodeStatus {
  const { options, machine, runtime, images, shuttingDown, pullProgress, previous, now } = facts;
  const capacity = capacityOf(machine, options.maxPods);
  return {
    capacity,
    // No resources are reserved, so allocatable equals capacity.
    allocatable: capacity,
    conditions: nodeConditions({
      runtime,
      shuttingDown,
      pullProgress,
      previous: previous?.conditions ?? [],
      now,
    }),
    addresses: [
      ...(options.nodeIps ?? machine.addresses).map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: options.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: options.kubeletPort } },
    nodeInfo: nodeInfo(facts),
    ...(images && { images: shownImages(images) }),
    ...(runtime && runtimeAbilities(runtime)),
  };
}

function capacityOf({ cpus, memoryBytes, storageBytes }: Machine, maxPods: number): Record<string, string> {
  return {
    cpu: `${cpus}`,
    "ephemeral-storage": kibibytes(storageBytes),
    memory: kibibytes(memoryBytes),
    pods: `${maxPods}`,
  };
}

/** Formats bytes in the canonical form of the API, so that the value does not change when stored. */
function kibibytes(bytes: number): string {
  return formatQuantity(parseQuantity(`${Math.floor(bytes / 1_024)}Ki`));
}

function nodeInfo({ options, machine, runtime }: NodeStatusFacts): NodeStatus["nodeInfo"] {
  const { runtimeName = "unknown", runtimeVersion = "Unknown" } = runtime?.version ?? {};
  return {
    architecture: machine.architecture,
    bootID: machine.bootId,
    containerRuntimeVersion: `${runtimeName}://${runtimeVersion}`,
    kernelVersion: machine.kernelVersion,
    kubeProxyVersion: "",
    kubeletVersion: options.kubeletVersion,
    machineID: machine.machineId,
    operatingSystem: "linux",
    osImage: machine.osImage,
    systemUUID: machine.systemUuid,
    ...(machine.swapBytes > 0 && { swap: { capacity: machine.swapBytes } }),
  };
}

const maxImages = 50;
const maxNames = 5;

/** Lists the largest images, for the scheduler's image locality. */
function shownImages(images: readonly Image[]): NodeStatus["images"] {
  return [...images]
    .sort((a, b) => Number(b.size - a.size) || (a.id < b.id ? -1 : 1))
    .slice(0, maxImages)
    .map(({ repoDigests, repoTags, size }) => ({
      names: [...repoDigests, ...repoTags].slice(0, maxNames),
      sizeBytes: Number(size),
    }));
}

function runtimeAbilities({ status }: RuntimeState): Pick<NodeStatus, "features" | "runtimeHandlers"> {
  const { features, runtimeHandlers } = status;
  return {
    ...(features && { features: { supplementalGroupsPolicy: features.supplementalGroupsPolicy } }),
    // Sorted, because runtimes return them in any order.
    runtimeHandlers: [...runtimeHandlers]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, features }) => ({
        name,
        features: {
          recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
          userNamespaces: features?.userNamespaces ?? false,
        },
      })),
  };
}

type Patch = Record<string, unknown>;

/** Labels that describe the machine. The kubelet restores them when it starts and does not change other labels. */
const machineLabels = [
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];

/** Builds the strategic merge patch of a registered node. Undefined if nothing changed. */
export function registrationPatch(want: Node, has: Node): Patch | undefined {
  const metadata = {
    ...changedKeys("labels", pick(want.metadata.labels, machineLabels), has.metadata.labels),
    ...changedKeys("annotations", want.metadata.annotations, has.metadata.annotations),
  };
  const [wanted, had] = [want.status ?? {}, has.status ?? {}];
  const status = hasNodeChanged(wanted, had) ? heartbeatPatch(wanted, had) : undefined;
  if (Object.keys(metadata).length === 0 && !status) return undefined;
  return { ...(Object.keys(metadata).length > 0 && { metadata }), ...(status && { status }) };
}

/** Returns whether the status changed apart from heartbeat times. */
export function hasNodeChanged(want: NodeStatus, has: NodeStatus): boolean {
  const fields = changedFields(want, has);
  return (
    Object.keys(fields).length > 0 || (want.conditions ?? []).some((each) => hasConditionChanged(each, has))
  );
}

/**
 * Builds the strategic merge patch of the node's status, with all conditions of the kubelet, because each patch is a
 * heartbeat. Extended resources and conditions of other components are kept.
 */
export function heartbeatPatch(want: NodeStatus, has: NodeStatus): Patch {
  return { ...changedFields(want, has), conditions: want.conditions };
}

function changedFields(want: NodeStatus, has: NodeStatus): Patch {
  const whole = ["daemonEndpoints", "features", "nodeInfo", "images", "runtimeHandlers"] as const;
  const changed = whole.filter((field) => want[field] !== undefined && !isEqual(want[field], has[field]));
  return {
    ...Object.fromEntries(changed.map((field) => [field, want[field]])),
    ...changedKeys("capacity", want.capacity, has.capacity),
    ...changedKeys("allocatable", want.allocatable, has.allocatable),
    // Addresses are merged by type, but there can be two of one type, so the whole list is replaced.
    ...(!isEqual(want.addresses, has.addresses) && {
      addresses: [{ $patch: "replace" }, ...(want.addresses ?? [])],
    }),
  };
}

function hasConditionChanged(want: NodeCondition, has: NodeStatus): boolean {
  const before = conditionOf({ status: has }, want.type);
  return !isEqual({ ...want, lastHeartbeatTime: "" }, { ...before, lastHeartbeatTime: "" });
}

type Strings = Readonly<Record<string, string>>;

function changedKeys(field: string, want: Strings = {}, has: Strings = {}): Patch {
  const changed = Object.entries(want).filter(([key, value]) => has[key] !== value);
  return changed.length > 0 ? { [field]: Object.fromEntries(changed) } : {};
}

function pick(labels: Strings = {}, names: readonly string[]): Strings {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => names.includes(name)));
}
