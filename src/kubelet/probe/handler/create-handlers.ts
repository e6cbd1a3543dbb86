import type { CriClient } from "../../../cri/cri-client.ts";
import { runExec } from "./exec.ts";
import { runGrpc } from "./grpc.ts";
import { runHttpGet } from "./http-get.ts";
import { notRun, type ProbeHandler } from "./probe-handler.ts";
import { runTcpSocket } from "./tcp-socket.ts";

/** Probes by what their spec asks for. */
export function createHandlers({
  runtime,
}: {
  runtime: Pick<CriClient["runtime"], "execSync">;
}): ProbeHandler {
  return async ({ exec, httpGet, tcpSocket, grpc }, target, options) => {
    if (exec) return runExec(runtime, exec, { target, ...options });
    if (httpGet) return runHttpGet(httpGet, { target, ...options });
    if (tcpSocket) return runTcpSocket(tcpSocket, { target, ...options });
    if (grpc) return runGrpc(grpc, { target, ...options });
    return notRun(`missing probe handler for ${target.container.name}`);
  };
}
