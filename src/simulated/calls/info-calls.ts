import packageJson from "../../../package.json" with { type: "json" };
import { matchesLabels, toNanos } from "../../cri/field-values.ts";
import {
  ContainerStats,
  type ContainerStatsFilter,
  PodSandboxStats,
  type PodSandboxStatsFilter,
  type RuntimeServiceService,
} from "../../cri/generated/cri.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import { containerScript, type SimulatedCore } from "../model/core.ts";
import { invalidArgument } from "../model/failure.ts";
import { type ContainerRecord, findContainer, findSandbox, type SandboxRecord } from "../model/state.ts";
import type { Usage } from "../scripts/scripts.ts";

/** Version of the CRI handshake; kubelets do not start with another one. */
const kubeApiVersion = "0.1.0";

export function infoCalls(core: SimulatedCore) {
  return {
    async version() {
      return {
        version: kubeApiVersion,
        runtimeName: "kindling-simulated",
        runtimeVersion: packageJson.version,
        runtimeApiVersion: "v1",
      };
    },

    async status({ verbose }) {
      const { runtimeProblem, networkProblem } = core.rules.scriptFor("status", {});
      const { sandboxes, containers, images } = core.state;
      const counts = { sandboxes: sandboxes.size, containers: containers.size, images: images.size };
      return {
        status: {
          conditions: [
            condition("RuntimeReady", { problem: runtimeProblem, reason: "RuntimeNotReady" }),
            condition("NetworkReady", { problem: networkProblem, reason: "NetworkPluginNotReady" }),
          ],
        },
        runtimeHandlers: [...core.handlers].map((name) => ({
          name,
          features: { recursiveReadOnlyMounts: true, userNamespaces: false },
        })),
        features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false, mountOptions: false },
        info: { ...(verbose && { simulated: JSON.stringify(counts) }) },
      };
    },

    async runtimeConfig() {
      // Simulated pods have no cgroups, so the kubelet need not create any.
      return { linux: undefined };
    },

    /** Sets the pod CIDR of the node, from which further pods get their addresses. */
    async updateRuntimeConfig({ runtimeConfig }) {
      const [cidr] = (runtimeConfig?.networkConfig?.podCidr ?? "").split(",");
      try {
        // An IPv6 CIDR is ignored: simulated addresses are IPv4.
        if (cidr && !cidr.includes(":")) core.state.addresses.move(cidr);
      } catch (error) {
        throw invalidArgument(
          `runtime_config.network_config.pod_cidr: ${error instanceof Error ? error.message : error}`,
        );
      }
      return {};
    },

    getContainerEvents: (_request, { signal }) => core.events.subscribe(signal),
  } satisfies ServiceCalls<RuntimeServiceService>;
}

function condition(type: string, { problem, reason }: { problem: string | undefined; reason: string }) {
  const well = problem === undefined;
  return { type, status: well, reason: well ? "" : reason, message: problem ?? "" };
}

/** Usage of a mostly idle container. */
const defaultUsage: Usage = { cpuNanoCores: 1_000_000, memoryBytes: 4 * 2 ** 20 };

/** Statistics from rules. They are deterministic at a given time. */
export function statsCalls(core: SimulatedCore) {
  const { state } = core;
  return {
    async containerStats({ containerId }) {
      return { stats: containerStats(core, findContainer(state, containerId)) };
    },
    async listContainerStats({ filter }) {
      const running = [...state.containers.values()].filter((one) => one.state.kind === "running");
      const chosen = filter ? running.filter((container) => matches(container, filter)) : running;
      return { stats: chosen.map((container) => containerStats(core, container)) };
    },
    async podSandboxStats({ podSandboxId }) {
      return { stats: podStats(core, findSandbox(state, podSandboxId)) };
    },
    async listPodSandboxStats({ filter }) {
      const ready = [...state.sandboxes.values()].filter((sandbox) => sandbox.state === "ready");
      const chosen = filter ? ready.filter((sandbox) => matchesPod(sandbox, filter)) : ready;
      return { stats: chosen.map((sandbox) => podStats(core, sandbox)) };
    },
  } satisfies ServiceCalls<RuntimeServiceService>;
}

interface Reading {
  readonly cpuNanoCores: number;
  readonly cpuNanos: number;
  readonly memoryBytes: number;
}

/** Undefined for a container that is not running. */
function readUsage(core: SimulatedCore, container: ContainerRecord): Reading | undefined {
  if (container.state.kind !== "running") return undefined;
  const { cpuNanoCores, memoryBytes } = containerScript(core, container).usage ?? defaultUsage;
  const seconds = (core.clock.now() - container.state.startedAt) / 1_000;
  return { cpuNanoCores, cpuNanos: cpuNanoCores * seconds, memoryBytes };
}

function containerStats(core: SimulatedCore, container: ContainerRecord): ContainerStats {
  const { id, metadata, labels, annotations } = container;
  const reading = readUsage(core, container);
  return ContainerStats.fromPartial({
    attributes: { id, metadata, labels, annotations },
    ...(reading && usageMessage(reading, core.clock.now())),
  });
}

function podStats(core: SimulatedCore, sandbox: SandboxRecord): PodSandboxStats {
  const { id, metadata, labels, annotations } = sandbox;
  const readings = sandbox.containers.flatMap((container) => readUsage(core, container) ?? []);
  const sum = (pick: (reading: Reading) => number) =>
    readings.reduce((total, reading) => total + pick(reading), 0);
  const whole: Reading = {
    cpuNanoCores: sum(({ cpuNanoCores }) => cpuNanoCores),
    cpuNanos: sum(({ cpuNanos }) => cpuNanos),
    memoryBytes: sum(({ memoryBytes }) => memoryBytes),
  };
  return PodSandboxStats.fromPartial({
    attributes: { id, metadata, labels, annotations },
    linux: {
      ...usageMessage(whole, core.clock.now()),
      containers: sandbox.containers
        .filter(({ state }) => state.kind === "running")
        .map((container) => containerStats(core, container)),
    },
  });
}

function usageMessage({ cpuNanoCores, cpuNanos, memoryBytes }: Reading, now: number) {
  const timestamp = toNanos(now);
  const memory = value(memoryBytes);
  return {
    cpu: { timestamp, usageCoreNanoSeconds: value(cpuNanos), usageNanoCores: value(cpuNanoCores) },
    memory: { timestamp, workingSetBytes: memory, usageBytes: memory, rssBytes: memory },
  };
}

function value(count: number): { value: bigint } {
  return { value: BigInt(Math.max(0, Math.round(count))) };
}

function matches(container: ContainerRecord, filter: ContainerStatsFilter): boolean {
  return (
    container.id.startsWith(filter.id) &&
    container.sandbox.id.startsWith(filter.podSandboxId) &&
    matchesLabels(container.labels, filter.labelSelector)
  );
}

function matchesPod(sandbox: SandboxRecord, filter: PodSandboxStatsFilter): boolean {
  return sandbox.id.startsWith(filter.id) && matchesLabels(sandbox.labels, filter.labelSelector);
}
