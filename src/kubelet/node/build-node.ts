import type { Node, NodeStatus } from "../../api/objects.ts";
import { formatQuantity, parseQuantity } from "../../api/quantity.ts";
import type { Image } from "../../cri/generated/cri.ts";
import { nodeConditions } from "./node-conditions.ts";
import type { Machine } from "./read-machine.ts";
import type { RuntimeAnswer } from "./read-runtime.ts";

/** What a kubelet is told of its node. */
export interface NodeOptions {
  readonly name: string;
  /** Instead of the machine's own addresses. */
  readonly nodeIps?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Only for a node that is registered for the first time. */
  readonly taints?: readonly NonNullable<NonNullable<Node["spec"]>["taints"]>[number][];
  readonly maxPods: number;
  readonly kubeletVersion: string;
  /** Where the kubelet's server listens; 0 for none. */
  readonly kubeletPort: number;
}

export interface NodeFacts {
  readonly options: NodeOptions;
  readonly machine: Machine;
  /** Undefined until the runtime has answered once. */
  readonly runtime: RuntimeAnswer | undefined;
  /** Undefined as long as nobody has asked for them. */
  readonly images: readonly Image[] | undefined;
  readonly shuttingDown: boolean;
  /** What the API has. */
  readonly previous: NodeStatus | undefined;
  readonly now: number;
}

/** A node as it registers: with its status, so that one that is ready is so from the start. */
export function buildNode(facts: NodeFacts): Node {
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

export function buildNodeStatus(facts: NodeFacts): NodeStatus {
  const { options, machine, runtime, images, shuttingDown, previous, now } = facts;
  const capacity = capacityOf(machine, options.maxPods);
  return {
    capacity,
    // Nothing is kept from pods.
    allocatable: capacity,
    conditions: nodeConditions({ runtime, shuttingDown, previous: previous?.conditions ?? [], now }),
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

/** As nodes show bytes: in the API's own form, which does not change on the way through it. */
function kibibytes(bytes: number): string {
  return formatQuantity(parseQuantity(`${Math.floor(bytes / 1_024)}Ki`));
}

function nodeInfo({ options, machine, runtime }: NodeFacts): NodeStatus["nodeInfo"] {
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

/** The largest ones: the scheduler looks where an image already is. */
function shownImages(images: readonly Image[]): NodeStatus["images"] {
  return [...images]
    .sort((a, b) => Number(b.size - a.size) || (a.id < b.id ? -1 : 1))
    .slice(0, maxImages)
    .map(({ repoDigests, repoTags, size }) => ({
      names: [...repoDigests, ...repoTags].slice(0, maxNames),
      sizeBytes: Number(size),
    }));
}

function runtimeAbilities({ status }: RuntimeAnswer): Pick<NodeStatus, "features" | "runtimeHandlers"> {
  const { features, runtimeHandlers } = status;
  return {
    ...(features && { features: { supplementalGroupsPolicy: features.supplementalGroupsPolicy } }),
    // In one order: runtimes answer in any.
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
