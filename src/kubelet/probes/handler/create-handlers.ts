// Clauses: 950-1
import { connect, isIP } from "node:net";
import type { Probe } from "../../../api/meta/objects.ts";
import type { CriClient } from "../../../cri/cri-client.ts";
import { runExec } from "./exec.ts";
import { runGrpc } from "./grpc.ts";
import { runHttpGet } from "./http-get.ts";
import {
  describeDialError,
  failed,
  findAddress,
  joinHostPort,
  notRun,
  type ProbeHandler,
  type ProbeOutcome,
  type ProbeTarget,
  type RunOptions,
} from "./probe-handler.ts";

/** Creates the handler that runs a probe by the type in its spec. */
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

/** Runs a TCP probe: succeeds if the port accepts a connection. */
async function runTcpSocket(
  action: NonNullable<Probe["tcpSocket"]>,
  { target, timeoutMs, signal }: RunOptions & { readonly target: ProbeTarget },
): Promise<ProbeOutcome> {
  const address = findAddress(action, target);
  if (address.kind === "none") return address.outcome;
  const { host, port } = address;
  return new Promise((resolve) => {
    const socket = connect({ host, port, autoSelectFamily: isIP(host) === 0 });
    const end = (outcome: ProbeOutcome) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      socket.destroy();
      resolve(outcome);
    };
    const abort = () => end(failed("operation was canceled"));
    const timer = setTimeout(() => {
      end(failed(`dial tcp ${joinHostPort(host, port)}: i/o timeout`));
    }, timeoutMs);
    signal.addEventListener("abort", abort, { once: true });
    socket.on("connect", () => end({ kind: "success" }));
    socket.on("error", (error) => end(failed(describeDialError(error, address))));
  });
}
