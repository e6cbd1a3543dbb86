import { connect, isIP } from "node:net";
import type { Probe } from "../../../api/objects.ts";
import { describeDialError } from "./describe-socket-error.ts";
import { findAddress, joinHostPort } from "./find-address.ts";
import { failed, type ProbeOutcome, type ProbeTarget, type RunOptions } from "./probe-handler.ts";

/** Whether the port takes connections. */
export async function runTcpSocket(
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
