import type { ExecRequest, ExecResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { messageOf } from "../../lib/message-of.ts";
import { invalidArgument } from "../runtime-error.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { serveExec } from "../stream/serve-process.ts";
import type { StreamServer } from "../stream/stream-server.ts";
import { checkStreams } from "./check-streams.ts";
import { findRunning } from "./find-running.ts";

/** Answers with an address; the command runs when somebody connects there. */
export function exec({
  streams,
  ...state
}: Pick<RuntimeState, "containers" | "driver"> & { streams: StreamServer }): UnaryRpc<
  ExecRequest,
  ExecResponse
> {
  return async (request) => {
    const { id } = findRunning(state, request.containerId);
    const { cmd, tty, stdin } = request;
    if (cmd.length === 0) throw invalidArgument("cmd is missing");
    checkStreams(request);
    const url = streams.offer("exec", {
      streams: request,
      async serve(session) {
        try {
          const process = await state.driver.exec(id, { args: cmd, terminal: tty, stdin });
          await serveExec(session, process, request);
        } catch (error) {
          const message = messageOf(error);
          await session.finish({ kind: "failed", message });
        }
      },
    });
    return { url };
  };
}
