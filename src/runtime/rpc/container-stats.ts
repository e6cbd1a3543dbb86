import type {
  ContainerStats,
  ContainerStatsFilter,
  ContainerStatsRequest,
  ContainerStatsResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
} from "../../cri/generated/cri.ts";
import { matchesLabels } from "../../cri/matches-labels.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import type { CpuRates } from "../container/cpu-rates.ts";
import type { LayerUsage } from "../container/layer-usage.ts";
import { containerStatsMessage } from "../message/stats-message.ts";
import type { ContainerRecord } from "../state/container-record.ts";
import type { RuntimeState } from "../state/runtime-state.ts";

export type StatsDeps = Pick<RuntimeState, "containers" | "driver" | "images" | "clock"> & {
  readonly cpuRates: CpuRates;
  readonly layerUsage: LayerUsage;
};

export function containerStats(deps: StatsDeps): UnaryRpc<ContainerStatsRequest, ContainerStatsResponse> {
  return async ({ containerId }) => ({
    stats: await readContainerStats(deps, deps.containers.find(containerId)),
  });
}

/** Of the containers that run: the others use nothing. */
export function listContainerStats(
  deps: StatsDeps,
): UnaryRpc<ListContainerStatsRequest, ListContainerStatsResponse> {
  return async ({ filter }) => {
    const chosen = deps.containers
      .list()
      .filter(({ state }) => state.kind === "running")
      .filter((container) => !filter || matches(container, filter));
    return { stats: await Promise.all(chosen.map((container) => readContainerStats(deps, container))) };
  };
}

export async function readContainerStats(
  { driver, images, clock, cpuRates, layerUsage }: StatsDeps,
  container: ContainerRecord,
): Promise<ContainerStats> {
  const isRunning = container.state.kind === "running";
  const [usage, layer] = await Promise.all([
    isRunning ? driver.stats(container.id) : undefined,
    layerUsage.read(container.id),
  ]);
  const now = clock.now();
  const nanoCores = usage && cpuRates.read(container.id, { cpuNanos: usage.cpuNanos, at: now });
  return containerStatsMessage(container, {
    usage,
    nanoCores,
    now,
    layer: layer && { ...layer, mountpoint: images.directory },
  });
}

function matches(container: ContainerRecord, filter: ContainerStatsFilter): boolean {
  return (
    container.id.startsWith(filter.id) &&
    container.sandboxId.startsWith(filter.podSandboxId) &&
    matchesLabels(container.config.labels, filter.labelSelector)
  );
}
