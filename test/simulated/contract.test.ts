import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectCri } from "../../src/cri/cri-client.ts";
import { ImageSpec, PullImageRequest } from "../../src/cri/generated/cri.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import type { SimulationRule } from "../../src/simulated/scripts/rules.ts";
import { startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { type ContractRuntime, describeCriContract } from "../support/cri/cri-contract.ts";
import { busyboxImage } from "../support/cri/cri-runtime.ts";
import { describeSlow } from "../support/vitest/slow.ts";

const slowImage = "registry.test/slow:1";
const stallingImage = "registry.test/stalling:1";
/** Slow enough that a machine that is held up does not miss most of it. */
const size = { sizeBytes: 400 * 1_024, layers: 2, bytesPerSecond: 100 * 1_024 };
const script: SimulationRule[] = [
  { match: { image: slowImage }, pull: size },
  { match: { image: stallingImage }, pull: { ...size, stallAtByte: 100 * 1_024 } },
];

async function start({ overSocket }: { overSocket: boolean }): Promise<ContractRuntime> {
  const folder = await mkdtemp(join(tmpdir(), "kindling-simulated-"));
  const listen = overSocket ? `unix://${join(folder, "cri.sock")}` : undefined;
  const runtime = await startSimulatedRuntime({ listen, logger: silentLogger, script });
  const client = listen === undefined ? runtime.client : connectCri(listen);
  const image = ImageSpec.fromPartial({ image: busyboxImage });
  await client.images.pullImage(PullImageRequest.fromPartial({ image }));
  return {
    client,
    slowImage,
    stallingImage,
    hasCgroups: false,
    async stop() {
      client.close();
      await runtime.close();
      await rm(folder, { recursive: true });
    },
  };
}

describeCriContract("the simulated runtime over its socket", () => start({ overSocket: true }));
describeSlow("without a socket", () =>
  describeCriContract("the simulated runtime in-process", () => start({ overSocket: false })),
);
