import { type ContractRuntime, describeCriContract } from "../support/cri-contract.ts";
import { startCriRuntime } from "../support/cri-runtime.ts";
import { startSlowRegistry } from "../support/slow-registry.ts";
import { describeWithTool } from "../support/tools.ts";

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

describeWithTool("busybox", "our runtime", () => {
  describeWithTool("conmon", "with runc", () => describeCriContract("the driver oci", () => start("oci")));
  describeCriContract("the driver host", () => start("host"));
});
