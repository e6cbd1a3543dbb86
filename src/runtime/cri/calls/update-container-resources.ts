import type {
  UpdateContainerResourcesRequest,
  UpdateContainerResourcesResponse,
} from "../../../cri/generated/cri.ts";
import { LinuxContainerResources } from "../../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../../cri/serve-call.ts";
import { linuxResources } from "../../containers/build-container-spec.ts";
import { failedPrecondition, invalidArgument } from "../../errors/runtime-error.ts";
import type { RuntimeState } from "../../state/runtime-state.ts";

/** Changes a container's limits and records them; kubelets read them back from its status. */
export function updateContainerResources(
  state: RuntimeState,
): UnaryRpc<UpdateContainerResourcesRequest, UpdateContainerResourcesResponse> {
  return async ({ containerId, linux }) => {
    if (!linux) throw invalidArgument("linux is missing");
    const { id } = state.containers.find(containerId);
    await state.locks.run(id, async () => {
      const container = state.containers.find(id);
      if (container.state.kind !== "running" && container.state.kind !== "created")
        throw failedPrecondition(`container ${id} is ${container.state.kind}`);
      await state.driver.updateResources(id, linuxResources(linux));
      await state.containers.change(id, (record) => ({
        ...record,
        config: {
          ...record.config,
          linux: {
            securityContext: record.config.linux?.securityContext,
            resources: mergeResources(record.config.linux?.resources, linux),
          },
        },
      }));
    });
    return {};
  };
}

/** Merges an update into the resources: zero values keep the previous ones. Exported for its test. */
export function mergeResources(
  before: LinuxContainerResources | undefined,
  update: LinuxContainerResources,
): LinuxContainerResources {
  const base = before ?? LinuxContainerResources.fromPartial({});
  return {
    cpuPeriod: update.cpuPeriod || base.cpuPeriod,
    cpuQuota: update.cpuQuota || base.cpuQuota,
    cpuShares: update.cpuShares || base.cpuShares,
    memoryLimitInBytes: update.memoryLimitInBytes || base.memoryLimitInBytes,
    memorySwapLimitInBytes: update.memorySwapLimitInBytes || base.memorySwapLimitInBytes,
    oomScoreAdj: base.oomScoreAdj,
    cpusetCpus: update.cpusetCpus || base.cpusetCpus,
    cpusetMems: update.cpusetMems || base.cpusetMems,
    hugepageLimits: update.hugepageLimits.length > 0 ? update.hugepageLimits : base.hugepageLimits,
    unified: { ...base.unified, ...update.unified },
  };
}
