import { ImageServiceService, RuntimeServiceService } from "../cri/generated/cri.ts";
import { listenOnSocket } from "../cri/listen-on-socket.ts";
import { serveCalls } from "../cri/serve-call.ts";
import { imageCalls, runtimeCalls } from "./rpc/calls.ts";
import type { RuntimeInfo } from "./rpc/status.ts";
import { toStatus } from "./rpc/to-status.ts";
import type { RuntimeState } from "./state/runtime-state.ts";
import { startStreamServer } from "./stream/stream-server.ts";

export interface CriServer {
  close(): Promise<void>;
}

export interface CriServerOptions {
  /** `unix:///path` */
  readonly listen: string;
  readonly info: RuntimeInfo;
}

/** Both services on their socket, and the streams of exec and attach beside it. */
export async function serveCri(state: RuntimeState, { listen, info }: CriServerOptions): Promise<CriServer> {
  const streams = await startStreamServer({ logger: state.logger });
  const options = { logger: state.logger, toStatus };
  try {
    const server = await listenOnSocket(listen, {
      runtime: serveCalls(RuntimeServiceService, runtimeCalls({ state, streams, info }), options),
      images: serveCalls(ImageServiceService, imageCalls(state), options),
    });
    return {
      async close() {
        await server.close();
        await streams.close();
      },
    };
  } catch (error) {
    await streams.close();
    throw error;
  }
}
