import type { Node, NodeStatus } from "../api/objects.ts";
import type { NodeFacts as ContainerNodeFacts, MachineFacts } from "./container/node-facts.ts";
import type { Machine } from "./node/read-machine.ts";
import type { NodeFacts as VolumeNodeFacts } from "./volume/volume-request.ts";

export interface NodeViewOptions {
  /** As the API has it; undefined until it is registered. */
  readonly inApi: () => Node | undefined;
  readonly nodeName: string;
  readonly nodeIps: readonly string[] | undefined;
  readonly machine: Machine;
  readonly machineFacts: MachineFacts;
}

export interface NodeView extends ContainerNodeFacts, VolumeNodeFacts {
  readonly runtimeHandlers: NonNullable<NodeStatus["runtimeHandlers"]>;
}

/** The node as pods see it: what the API has of it, and until it has something, what the machine is. */
export function nodeView(options: NodeViewOptions): () => NodeView {
  const { inApi, nodeName, machine, machineFacts } = options;
  const measured = { cpu: `${machine.cpus}`, memory: `${machine.memoryBytes}` };
  return () => {
    const { metadata, status } = inApi() ?? {};
    return {
      name: nodeName,
      labels: metadata?.labels ?? {},
      memoryBytes: machine.memoryBytes,
      allocatable: status?.allocatable ?? measured,
      hostIps: options.nodeIps ?? machine.addresses,
      machine: machineFacts,
      runtimeHandlers: status?.runtimeHandlers ?? [],
    };
  };
}
