import { join } from "node:path";
import { connectCri } from "../../../src/cri/cri-client.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import {
  type SimulatedRuntime,
  type SimulatedRuntimeOptions,
  startSimulatedRuntime,
} from "../../../src/simulated/start-simulated-runtime.ts";
import { makeTemporaryFolder } from "../files/temporary-folder.ts";

/** A simulated runtime whose client is one as for any other: gRPC over a unix socket. */
export async function startSimulatedOnSocket(
  options: Omit<SimulatedRuntimeOptions, "logger" | "listen"> = {},
): Promise<SimulatedRuntime> {
  const folder = makeTemporaryFolder();
  const listen = `unix://${join(folder.path, "cri.sock")}`;
  const runtime = await startSimulatedRuntime({ ...options, logger: silentLogger, listen });
  const client = connectCri(listen);
  return {
    ...runtime,
    client,
    async close() {
      client.close();
      await runtime.close();
      folder.remove();
    },
  };
}
