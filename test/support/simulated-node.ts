import { afterAll, afterEach, beforeAll } from "vitest";
import { conditionOf } from "../../src/api/conditions.ts";
import type { Pod } from "../../src/api/objects.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import type { SimulationRule } from "../../src/simulated/script/rules.ts";
import type { SimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { type KubeletNode, type KubeletNodeOptions, startKubeletNode } from "./kubelet-node.ts";
import { startSimulatedOnSocket } from "./simulated-on-socket.ts";

/** A node of simulated containers for the tests of a file. Every image is there, but for those that a rule pulls. */
export interface SimulatedNode {
  readonly node: KubeletNode;
  readonly simulated: SimulatedRuntime;
  /** A rule that goes with the test. */
  given(rule: SimulationRule): SimulationRule;
}

interface SimulatedNodeOptions extends Partial<KubeletNodeOptions> {
  /** What stands between the kubelet and the runtime. */
  readonly between?: (cri: CriClient) => CriClient;
}

/** Filled before the first test. */
export function useSimulatedNode({ between, ...options }: SimulatedNodeOptions = {}): SimulatedNode {
  const added: SimulationRule[] = [];
  const fixture: { -readonly [Name in keyof SimulatedNode]?: SimulatedNode[Name] } = {
    given(rule) {
      added.push(rule);
      return fixture.simulated?.rules.add(rule) ?? rule;
    },
  };
  beforeAll(async () => {
    const simulated = await startSimulatedOnSocket({ imagesPresent: true });
    fixture.simulated = simulated;
    fixture.node = await startKubeletNode({
      cri: between?.(simulated.client) ?? simulated.client,
      ...options,
    });
  });
  afterEach(() => {
    for (const rule of added.splice(0)) fixture.simulated?.rules.remove(rule);
  });
  afterAll(async () => {
    await fixture.node?.close();
    await fixture.simulated?.close();
  });
  return fixture as SimulatedNode;
}

export const isReady = (pod: Pod) => conditionOf(pod, "Ready")?.status === "True";
