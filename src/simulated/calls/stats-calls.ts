import { matchesLabels, toNanos } from "../../cri/field-values.ts";
import {
  ContainerStats,
  type ContainerStatsFilter,
  PodSandboxStats,
  type PodSandboxStatsFilter,
  type RuntimeServiceService,
} from "../../cri/generated/cri.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import type { SimulatedCore } from "../model/core.ts";
import { containerScript } from "../model/scripts-for.ts";
import { type ContainerRecord, findContainer, findSandbox, type SandboxRecord } from "../model/state.ts";
import type { Usage } from "../scripts/scripts.ts";

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
