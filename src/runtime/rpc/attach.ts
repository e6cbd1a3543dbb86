import type { AttachRequest, AttachResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { serveAttach } from "../stream/serve-process.ts";
import type { StreamServer } from "../stream/stream-server.ts";
import { checkStreams } from "./check-streams.ts";
import { findRunning } from "./find-running.ts";

export function attach({
  streams,
  ...state
}: Pick<RuntimeState, "containers" | "driver"> & { streams: StreamServer }): UnaryRpc<
  AttachRequest,
  AttachResponse
> {
  return async (request) => {
    const { id } = findRunning(state, request.containerId);
    checkStreams(request);
    const url = streams.offer("attach", {
      streams: request,
      async serve(session) {
        try {
          await serveAttach(session, await state.driver.attach(id), request);
        } catch (error) {
          const message = messageOf(error);
          await session.finish({ kind: "failed", message });
        }
      },
    });
    return { url };
  };
}
