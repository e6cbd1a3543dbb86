import type { Node, NodeStatus } from "../../api/meta/objects.ts";
import type { ContainerNodeFacts, MachineFacts } from "../model/node-facts.ts";
import type { Machine } from "../node/read-machine.ts";
import type { VolumeNodeFacts } from "../volumes/volume-request.ts";

/** Facts about the node that pods, containers and volumes depend on. */
export interface NodeView extends ContainerNodeFacts, VolumeNodeFacts {
  readonly runtimeHandlers: NonNullable<NodeStatus["runtimeHandlers"]>;
}

/** Node status updater, as far as the view uses it. */
interface NodeSource {
  node(): Node | undefined;
  refresh(signal: AbortSignal): Promise<void>;
}

export interface NodeViewOptions {
  readonly nodeName: string;
  /** Overrides the addresses of the machine. */
  readonly nodeIps: readonly string[] | undefined;
  readonly machine: Machine;
  readonly machineFacts: MachineFacts;
}

/**
 * View of the node that combines its API object with the machine. Before the node is registered, the machine's own
 * values are used. `setSource` is called once the node status updater exists: it needs the kubelet server's port, the
 * server needs the pod workers, and those need this view.
 */
export function createNodeView({ nodeName, nodeIps, machine, machineFacts }: NodeViewOptions) {
  const measured = { cpu: `${machine.cpus}`, memory: `${machine.memoryBytes}` };
  let source: NodeSource = { node: () => undefined, refresh: () => Promise.resolve() };
  return {
    setSource(newSource: NodeSource): void {
      source = newSource;
    },
    refresh: (signal: AbortSignal): Promise<void> => source.refresh(signal),
    get(): NodeView {
      const { metadata, status } = source.node() ?? {};
      return {
        name: nodeName,
        labels: metadata?.labels ?? {},
        memoryBytes: machine.memoryBytes,
        allocatable: status?.allocatable ?? measured,
        hostIps: nodeIps ?? machine.addresses,
        machine: machineFacts,
        runtimeHandlers: status?.runtimeHandlers ?? [],
      };
    },
  };
}
