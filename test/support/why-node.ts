import { afterAll, beforeAll } from "vitest";
import { silentLogger } from "../../src/lib/logger.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { type KubeletNode, startKubeletNode } from "./kubelet-node.ts";

/** A node whose kubelet can be asked from another process. Filled before the first test. */
export function useWhyNode(): { readonly node: KubeletNode; readonly simulated: SimulatedRuntime } {
  const parts = {} as { node: KubeletNode; simulated: SimulatedRuntime };
  beforeAll(async () => {
    parts.simulated = await startSimulatedRuntime({ logger: silentLogger });
    parts.node = await startKubeletNode({ cri: parts.simulated.client, config: { address: "0.0.0.0" } });
  });
  afterAll(async () => {
    await parts.node?.close();
    await parts.simulated?.close();
  });
  return parts;
}
