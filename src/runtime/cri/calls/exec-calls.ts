import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type {
  AttachRequest,
  AttachResponse,
  ExecRequest,
  ExecResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  PortForwardRequest,
  PortForwardResponse,
} from "../../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../../cri/serve-call.ts";
import { messageOf } from "../../../lib/message-of.ts";
import { failedPrecondition, invalidArgument, RuntimeError } from "../../errors/runtime-error.ts";
import { createNamespaceDialer } from "../../networks/dial-in-namespace.ts";
import type { RuntimeState } from "../../state/runtime-state.ts";
import { serveAttach, serveExec } from "../../streaming/serve-process.ts";
import type { StreamServer } from "../../streaming/stream-server.ts";
import { findRunning } from "./find-records.ts";

/** Maximum size of each output: both must fit into one response of 16 MiB. The rest is dropped. */
const maxOutputBytes = 7 * 1_024 * 1_024;
/** Maximum delay of a timer; a longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1;
/** Maximum time for output after the command has exited. */
const drainMs = 1_000;

export function execSync(
  state: Pick<RuntimeState, "containers" | "driver">,
): UnaryRpc<ExecSyncRequest, ExecSyncResponse> {
  return async ({ containerId, cmd, timeout }, { signal }) => {
    const container = findRunning(state, containerId);
    if (cmd.length === 0) throw invalidArgument("cmd is missing");
    const timeoutMs = Math.min(1_000 * Number(timeout), maxTimerMs);
    const late = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
    const process = await state.driver.exec(container.id, {
      args: cmd,
      terminal: false,
      stdin: false,
      // A probe must not continue after its kubelet has disconnected.
      signal: late ? AbortSignal.any([late, signal]) : signal,
    });
    const outputs = [process.stdout, process.stderr].map((stream) => collect(stream));
    const exitCode = await process.exitCode;
    // A process left in the background may keep the outputs open forever.
    await Promise.race([
      Promise.all(outputs.map(({ ended }) => ended)),
      delay(drainMs, undefined, { ref: false }),
    ]);
    const [stdout, stderr] = outputs.map(({ take }) => take());
    if (late?.aborted)
      throw new RuntimeError("deadlineExceeded", `the command did not exit within ${timeout} s: timeout`);
    return { stdout: stdout ?? Buffer.alloc(0), stderr: stderr ?? Buffer.alloc(0), exitCode };
  };
}

/** Reads a stream in the background; `take` stops reading and returns what has arrived. */
function collect(stream: Readable | undefined): { ended: Promise<void>; take(): Buffer } {
  const chunks: Buffer[] = [];
  let size = 0;
  const ended = new Promise<void>((resolve) => {
    if (!stream) return resolve();
    stream.on("data", (chunk) => {
      const bytes = Buffer.from(chunk).subarray(0, maxOutputBytes - size);
      size += bytes.length;
      if (bytes.length > 0) chunks.push(bytes);
    });
    // A killed process may end with an error instead: earlier output counts.
    for (const event of ["end", "close", "error"]) stream.on(event, () => resolve());
  });
  return {
    ended,
    take() {
      stream?.destroy();
      return Buffer.concat(chunks);
    },
  };
}

/** Returns a URL; the command runs when a client connects to it. */
export function exec(
  state: Pick<RuntimeState, "containers" | "driver">,
  streams: StreamServer,
): UnaryRpc<ExecRequest, ExecResponse> {
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

export function attach(
  state: Pick<RuntimeState, "containers" | "driver">,
  streams: StreamServer,
): UnaryRpc<AttachRequest, AttachResponse> {
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

/** Returns a URL; a client that connects to it forwards connections to servers inside the pod. */
export function portForward(
  state: Pick<RuntimeState, "sandboxes">,
  streams: StreamServer,
): UnaryRpc<PortForwardRequest, PortForwardResponse> {
  return async ({ podSandboxId, port: ports }) => {
    const sandbox = state.sandboxes.find(podSandboxId);
    if (sandbox.state.kind !== "ready")
      throw failedPrecondition(`sandbox ${sandbox.id} is not ready: it is ${sandbox.state.kind}`);
    if (ports.some((port) => port < 1 || port > 65_535))
      throw invalidArgument("ports must be between 1 and 65535");
    const dialer = createNamespaceDialer(sandbox.state.namespaces.network);
    return { url: streams.offerPortForward({ ports, ...dialer }) };
  };
}

/** Checks CRI's rules for the streams of an exec or attach. */
function checkStreams(request: {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}): void {
  const { stdin, stdout, stderr, tty } = request;
  if (!stdin && !stdout && !stderr)
    throw invalidArgument("one of stdin, stdout and stderr must be requested");
  if (tty && stderr)
    throw invalidArgument("stderr must be false with a tty, which writes everything to stdout");
}
