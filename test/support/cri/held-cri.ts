import type { UntypedServiceImplementation } from "@grpc/grpc-js";
import { ImageServiceService, RuntimeServiceService } from "../../../src/cri/generated/cri.ts";
import { listenOnSocket } from "../../../src/cri/listen-on-socket.ts";
import { serveCalls } from "../../../src/cri/serve-call.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { toStatus } from "../../../src/simulated/model/failure.ts";
import { startSimulatedRuntime } from "../../../src/simulated/start-simulated-runtime.ts";

type RuntimeCall = keyof typeof RuntimeServiceService;

/** A runtime on a socket that never answers some of its calls. */
export interface HeldCri {
  /** Calls that wait for an answer, in the order in which they came. */
  readonly held: readonly RuntimeCall[];
  close(): Promise<void>;
}

export async function startHeldCri(listen: string, hold: readonly RuntimeCall[]): Promise<HeldCri> {
  const simulated = await startSimulatedRuntime({ logger: silentLogger });
  const options = { logger: silentLogger, toStatus };
  const held: RuntimeCall[] = [];
  const never: UntypedServiceImplementation = Object.fromEntries(
    hold.map((name) => [name, () => void held.push(name)]),
  );
  const server = await listenOnSocket(listen, {
    runtime: { ...serveCalls(RuntimeServiceService, simulated.client.runtime, options), ...never },
    images: serveCalls(ImageServiceService, simulated.client.images, options),
  });
  return {
    held,
    async close() {
      await server.close();
      await simulated.close();
    },
  };
}
