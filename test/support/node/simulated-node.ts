import { conditionOf } from "../../../src/api/meta/object-facts.ts";
import type { Pod } from "../../../src/api/meta/objects.ts";
import { type TestCluster, type TestClusterOptions, useCluster } from "../cluster/use-cluster.ts";
import type { KubeletNodeOptions } from "./kubelet-node.ts";

interface SimulatedNodeOptions
  extends Partial<KubeletNodeOptions>,
    Pick<TestClusterOptions, "wrapCri" | "runtime"> {}

/** Starts a cluster of one node, without a scheduler and controllers, for the tests of a file. */
export function useSimulatedNode({ wrapCri, runtime, ...kubelet }: SimulatedNodeOptions = {}): TestCluster {
  return useCluster({ scheduler: false, controllers: false, wrapCri, runtime, kubelet });
}

export const isReady = (pod: Pod) => conditionOf(pod, "Ready")?.status === "True";
