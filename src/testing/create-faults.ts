import type { Pod } from "../api/meta/objects.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { RunningNode } from "../cluster/parts/node.ts";
import { parseBytes } from "../simulated/scripts/annotations.ts";
import type { SimulationRule } from "../simulated/scripts/rules.ts";
import type { SimulatedRuntime } from "../simulated/start-simulated-runtime.ts";
import type { FailingPull, Fault, Faults, Outage, Size } from "./faults.ts";
import { type ObjectRef, toMs } from "./test-client.ts";

const pullFailures = {
  "not-found": "notFound",
  unauthorized: "unauthorized",
  unavailable: "unavailable",
} as const satisfies Record<FailingPull["reason"], string>;

export interface FaultDeps {
  readonly cluster: Pick<Cluster, "nodes" | "stopServing" | "serveAgain">;
  getPod(ref: ObjectRef): Promise<Pod>;
}

export function createFaults({ cluster, getPod }: FaultDeps): Faults {
  function nodeNamed(name: string): RunningNode {
    const node = cluster.nodes.find((each) => each.name === name);
    if (node) return node;
    const names = cluster.nodes.map((each) => each.name).join(", ");
    throw new TypeError(`node ${JSON.stringify(name)} does not exist; the nodes are ${names}`);
  }

  function rule(added: SimulationRule): Fault {
    const runtimes = cluster.nodes.map(simulatedOf);
    for (const { rules } of runtimes) rules.add(added);
    const end = () => {
      for (const { rules } of runtimes) rules.remove(added);
    };
    return { end, [Symbol.dispose]: end };
  }

  async function runtimeOfPod(ref: ObjectRef): Promise<{ uid: string; runtime: SimulatedRuntime }> {
    const { metadata, spec } = await getPod(ref);
    if (!spec?.nodeName) throw new Error(`pod ${metadata.name} has no node yet`);
    return { uid: metadata.uid ?? "", runtime: simulatedOf(nodeNamed(spec.nodeName)) };
  }

  return {
    slowVolume: (match, delay) => rule({ match, volume: { delayMs: toMs(delay, "delay") } }),
    failVolume: (match, message) => rule({ match, volume: { error: message } }),
    slowNetwork: (match, delay) => rule({ match, sandbox: { delayMs: toMs(delay, "delay") } }),
    failNetwork: (match, message) => rule({ match, sandbox: { networkError: message } }),
    slowHandler: (handler, delay) => rule({ match: { handler }, sandbox: { delayMs: toMs(delay, "delay") } }),
    failHandler: (handler, message) => rule({ match: { handler }, sandbox: { error: message } }),

    slowPull: (match, { size, rate, layers }) =>
      rule({
        match,
        pull: { sizeBytes: toBytes(size, "size"), bytesPerSecond: toBytes(rate, "rate"), layers },
      }),
    stallPull: (match, { at = 0, size = "10Mi", lasting = Number.POSITIVE_INFINITY } = {}) =>
      rule({
        match,
        pull: {
          sizeBytes: toBytes(size, "size"),
          stallAtByte: toBytes(at, "at"),
          stallMs: toMs(lasting, "lasting"),
        },
      }),
    failPull: (match, { reason, message }) =>
      rule({ match, pull: { failure: { kind: pullFailure(reason), message } } }),

    crash: (match, { exitCode = 1, after = 0, times } = {}) =>
      rule({ match, container: { exit: { code: exitCode, afterMs: toMs(after, "after"), times } } }),
    failStart: (match, message) => rule({ match, container: { startError: message } }),
    failProbe: (match, message = "failed by the test") => rule({ match, probe: { failure: message } }),
    rule,

    async exitContainer(pod, { container, exitCode }) {
      const { uid, runtime } = await runtimeOfPod(pod);
      runtime.exitContainer(uid, container, exitCode);
    },
    async killSandbox(pod) {
      const { uid, runtime } = await runtimeOfPod(pod);
      runtime.killSandbox(uid);
    },
    rebootNode: (node) => simulatedOf(nodeNamed(node)).reboot(),

    apiOutage: () => outage({ begin: cluster.stopServing, end: cluster.serveAgain }),
    async nodeOutage(node) {
      const { stopKubelet, startKubelet } = nodeNamed(node);
      return outage({ begin: stopKubelet, end: startKubelet });
    },
    async runtimeOutage(node) {
      const runtime = simulatedOf(nodeNamed(node));
      return outage({ begin: runtime.outage, end: runtime.restore });
    },
  };
}

async function outage({ begin, end }: { begin(): Promise<void>; end(): Promise<void> }): Promise<Outage> {
  await begin();
  return { end, [Symbol.asyncDispose]: end };
}

function simulatedOf({ simulated }: RunningNode): SimulatedRuntime {
  if (simulated) return simulated;
  throw new Error('this fault needs simulated nodes: startCluster({ runtime: "simulated" })');
}

function pullFailure(reason: FailingPull["reason"]) {
  if (Object.hasOwn(pullFailures, reason)) return pullFailures[reason];
  throw new TypeError(
    `reason: ${JSON.stringify(reason)} is not one of ${Object.keys(pullFailures).join(", ")}`,
  );
}

function toBytes(size: Size, name: string): number {
  const bytes = typeof size === "number" ? size : parseBytes(size);
  if (bytes !== undefined && bytes >= 0) return bytes;
  throw new TypeError(
    `${name}: ${typeof size === "string" ? JSON.stringify(size) : size} is not a size; use bytes, or text like "500Mi"`,
  );
}
