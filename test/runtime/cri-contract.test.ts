import { type ContractRuntime, describeCriContract } from "../support/cri/cri-contract.ts";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import { startCriRuntime } from "../support/cri/cri-runtime.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { startSlowRegistry } from "../support/registry/slow-registry.ts";

async function start(driver: "oci" | "host"): Promise<ContractRuntime> {
  const layerBytes = [200 * 1_024, 200 * 1_024];
  const slow = await startSlowRegistry({ layerBytes, pieces: 15, pauseMs: 100 });
  const stalling = await startSlowRegistry({ layerBytes, pieces: 15, pauseMs: 20, stallAfter: 4 });
  const runtime = await startCriRuntime({ driver });
  return {
    client: runtime.client,
    slowImage: slow.reference,
    stallingImage: stalling.reference,
    async stop() {
      await runtime.stop();
      await Promise.all([slow.stop(), stalling.stop()]);
    },
  };
}

describeWithTool("busybox", "our runtime", () =>
  describeEachDriver((driver) => describeCriContract("keeps the contract", () => start(driver))),
);
