import { readFile } from "node:fs/promises";
import type {
  ContainerStats,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  NetworkUsage,
  PodSandboxStatsFilter,
  PodSandboxStatsRequest,
  PodSandboxStatsResponse,
} from "../../cri/generated/cri.ts";
import { PodSandboxStats } from "../../cri/generated/cri.ts";
import { matchesLabels } from "../../cri/matches-labels.ts";
import { toNanos } from "../../cri/nanos.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { parseNetworkUsage } from "../sandbox/network-usage.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import type { SandboxRecord } from "../state/sandbox-record.ts";
import { readContainerStats, type StatsDeps } from "./container-stats.ts";

type PodStatsDeps = StatsDeps & Pick<RuntimeState, "sandboxes">;

export function podSandboxStats(
  deps: PodStatsDeps,
): UnaryRpc<PodSandboxStatsRequest, PodSandboxStatsResponse> {
  return async ({ podSandboxId }) => ({
    stats: await readPodStats(deps, deps.sandboxes.find(podSandboxId)),
  });
}

export function listPodSandboxStats(
  deps: PodStatsDeps,
): UnaryRpc<ListPodSandboxStatsRequest, ListPodSandboxStatsResponse> {
  return async ({ filter }) => {
    const chosen = deps.sandboxes
      .list()
      .filter(({ state }) => state.kind === "ready")
      .filter((sandbox) => !filter || matches(sandbox, filter));
    return { stats: await Promise.all(chosen.map((sandbox) => readPodStats(deps, sandbox))) };
  };
}

/** The sum of its containers: a sandbox has no process of its own that would count. */
async function readPodStats(deps: PodStatsDeps, sandbox: SandboxRecord): Promise<PodSandboxStats> {
  const { id, config } = sandbox;
  const { metadata, labels, annotations } = config;
  const running = deps.containers
    .list()
    .filter(({ sandboxId, state }) => sandboxId === id && state.kind === "running");
  const [containers, states] = await Promise.all([
    Promise.all(running.map((container) => readContainerStats(deps, container))),
    Promise.all(running.map((container) => deps.driver.state(container.id))),
  ]);
  const timestamp = toNanos(deps.clock.now());
  const pid = states.find((state) => state.kind === "running")?.pid;
  return PodSandboxStats.fromPartial({
    attributes: { id, metadata, labels, annotations },
    linux: {
      cpu: {
        timestamp,
        usageCoreNanoSeconds: sum(containers, ({ cpu }) => cpu?.usageCoreNanoSeconds),
        usageNanoCores: sum(containers, ({ cpu }) => cpu?.usageNanoCores),
      },
      memory: {
        timestamp,
        workingSetBytes: sum(containers, ({ memory }) => memory?.workingSetBytes),
        usageBytes: sum(containers, ({ memory }) => memory?.usageBytes),
        rssBytes: sum(containers, ({ memory }) => memory?.rssBytes),
        pageFaults: sum(containers, ({ memory }) => memory?.pageFaults),
        majorPageFaults: sum(containers, ({ memory }) => memory?.majorPageFaults),
      },
      network: pid === undefined ? undefined : await readNetworkUsage(pid, deps.clock.now()),
      containers,
    },
  });
}

/** Undefined for a process that has just ended. */
async function readNetworkUsage(pid: number, now: number): Promise<NetworkUsage | undefined> {
  const text = await readFile(`/proc/${pid}/net/dev`, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseNetworkUsage(text, now);
}

function sum(
  containers: readonly ContainerStats[],
  pick: (stats: ContainerStats) => { value: bigint } | undefined,
): { value: bigint } {
  return { value: containers.reduce((total, stats) => total + (pick(stats)?.value ?? 0n), 0n) };
}

function matches(sandbox: SandboxRecord, filter: PodSandboxStatsFilter): boolean {
  return sandbox.id.startsWith(filter.id) && matchesLabels(sandbox.config.labels, filter.labelSelector);
}
