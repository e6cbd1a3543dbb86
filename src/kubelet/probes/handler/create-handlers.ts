// Clauses: 950-1
import { connect, isIP } from "node:net";
import { status } from "@grpc/grpc-js";
import type { Container, Probe } from "../../../api/meta/objects.ts";
import type { CriClient } from "../../../cri/cri-client.ts";
import { withoutRandomIds } from "../../../cri/error-text.ts";
import { formatGoDuration } from "../../../lib/go-duration.ts";
import { isGrpcError } from "../../../lib/grpc-call.ts";
import { createExpand } from "../../model/expand.ts";
import { runGrpc } from "./grpc.ts";
import { runHttpGet } from "./http-get.ts";
import {
  describeDialError,
  describeGrpcError,
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

const maxOutputBytes = 10 * 1_024;
/** Time in addition to the probe's timeout in which the runtime must end the command. */
const runtimeGraceMs = 10_000;

/** Runs an exec probe: succeeds if the command exits with 0 in the container. */
export async function runExec(
  runtime: Pick<CriClient["runtime"], "execSync">,
  { command = [] }: NonNullable<Probe["exec"]>,
  { target, timeoutMs, signal }: RunOptions & { readonly target: ProbeTarget },
): Promise<ProbeOutcome> {
  const { container, containerId } = target;
  const cmd = expandCommand(command, container);
  const timeout = BigInt(Math.ceil(timeoutMs / 1_000));
  try {
    const { exitCode, stdout, stderr } = await runtime.execSync(
      { containerId, cmd, timeout },
      { signal, timeoutMs: timeoutMs + runtimeGraceMs },
    );
    if (exitCode === 0) return { kind: "success" };
    return failed(Buffer.concat([stdout, stderr]).subarray(0, maxOutputBytes).toString());
  } catch (error) {
    if (isGrpcError(error, status.DEADLINE_EXCEEDED)) {
      const after = formatGoDuration(timeoutMs);
      return failed(`command timed out: ${JSON.stringify(cmd.join(" "))} timed out after ${after}`);
    }
    return notRun(withoutRandomIds(describeGrpcError(error)));
  }
}

/** Expands `$(NAME)` with the container's literal variables. Variables from other sources are empty, as upstream. */
function expandCommand(command: readonly string[], { env = [] }: Container): string[] {
  const values = new Map(env.map(({ name, value = "" }) => [name, value]));
  const expand = createExpand();
  return command.map((word) => expand(word, (name) => values.get(name)));
}
