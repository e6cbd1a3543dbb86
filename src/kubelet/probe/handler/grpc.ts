import type { ClientHttp2Session } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { status } from "@grpc/grpc-js";
import type { Probe } from "../../../api/objects.ts";
import { createChildAbort } from "../../../lib/child-abort.ts";
import { formatGoDuration } from "../../../lib/go-duration.ts";
import { messageOf } from "../../../lib/message-of.ts";
import { describeStatus } from "./describe-grpc-error.ts";
import { findAddress, joinHostPort } from "./find-address.ts";
import { callOnce, openSession } from "./grpc-session.ts";
import { failed, type ProbeOutcome, type ProbeTarget, type RunOptions } from "./probe-handler.ts";

const healthCheckPath = "/grpc.health.v1.Health/Check";
const servingStatuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
/** Between tries to connect within one probe. */
const redialMs = 1_000;

/** Whether the server says of the service that it is serving, by gRPC's health protocol. */
export async function runGrpc(
  { port, service = "" }: NonNullable<Probe["grpc"]>,
  { target, timeoutMs, signal }: RunOptions & { readonly target: ProbeTarget },
): Promise<ProbeOutcome> {
  const address = findAddress({ port }, target);
  if (address.kind === "none") return address.outcome;
  const within = formatGoDuration(timeoutMs);
  const ending = createChildAbort(signal);
  const late = new Error("late");
  const timer = setTimeout(() => ending.abort(late), timeoutMs);
  let session: ClientHttp2Session | undefined;
  try {
    session = await dial(address, ending.signal);
    if (session) return await check(session, service, ending.signal);
    const subject = `service ${JSON.stringify(joinHostPort(address.host, port))}`;
    return failed(`timeout: failed to connect ${subject} within ${within}: context deadline exceeded`);
  } catch (error) {
    if (error === late) return failed(`timeout: health rpc did not complete within ${within}`);
    const details = messageOf(error);
    return failed(`error: health rpc probe failed: ${describeStatus(status.UNAVAILABLE, details)}`);
  } finally {
    clearTimeout(timer);
    ending.abort();
    session?.destroy();
  }
}

/** Refused connections are tried again until the end, as upstream's are: the server may be about to listen. */
async function dial(
  address: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<ClientHttp2Session | undefined> {
  while (!signal.aborted) {
    const session = await openSession(address, signal);
    if (session) return session;
    await delay(redialMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}

async function check(
  session: ClientHttp2Session,
  service: string,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const end = await callOnce(session, { path: healthCheckPath, message: encodeRequest(service), signal });
  if (end.kind === "message") {
    const said = decodeResponse(end.bytes);
    const name = servingStatuses[said] ?? String(said);
    if (name === "SERVING") return { kind: "success" };
    return failed(`service unhealthy (responded with ${JSON.stringify(name)})`);
  }
  if (end.code === status.UNIMPLEMENTED) {
    const what = "this server does not implement the grpc health protocol (grpc.health.v1.Health)";
    return failed(`error: ${what}: ${end.details}`);
  }
  return failed(`error: health rpc probe failed: ${describeStatus(end.code, end.details)}`);
}

// A string in, an enum out, both in field 1.
function encodeRequest(service: string): Uint8Array {
  const message = new BinaryWriter();
  return (service ? message.uint32(10).string(service) : message).finish();
}

function decodeResponse(bytes: Uint8Array): number {
  const reader = new BinaryReader(bytes);
  let servingStatus = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === 0) servingStatus = reader.int32();
    else reader.skip(wireType);
  }
  return servingStatus;
}
