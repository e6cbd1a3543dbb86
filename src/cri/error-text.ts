import { status } from "@grpc/grpc-js";
import { isGrpcError } from "../lib/grpc-call.ts";
import { messageOf } from "../lib/message-of.ts";
import { unwrapLogLine } from "../lib/unwrap-log-line.ts";

/** Names of gRPC codes in Go, by number. */
const codeNames =
  "OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated".split(
    " ",
  );

/**
 * Formats a runtime error like upstream: with its code, unless that is `Unknown`. Random IDs are replaced, so that the
 * same failure has the same text.
 */
export function criErrorText(error: unknown): string {
  return withoutRandomIds(errorText(error));
}

function errorText(error: unknown): string {
  if (!isGrpcError(error)) return messageOf(error);
  if (error.code === status.UNKNOWN) return error.details;
  return `rpc error: code = ${codeNames[error.code] ?? error.code} desc = ${error.details}`;
}

/** Parts of messages that differ between two occurrences of one failure. Image digests do not. */
const randomParts: readonly (readonly [RegExp, string])[] = [
  // IDs of containers, sandboxes and snapshots.
  [/(?<!sha256[:/@-])(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g, "<id>"],
  // Network namespaces of containerd and CRI-O, and links of the built-in bridge.
  [/(\/netns\/(?:cni-)?)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "$1<id>"],
  [/\bkdl[0-9a-f]{12}\b/g, "<link>"],
  [/\/proc\/\d+(?=\/)/g, "/proc/<pid>"],
  [/(\/proc\/(?:self|thread-self|<pid>)\/fd\/)\d+/g, "$1<fd>"],
  // Temporary files of Go programs, directories of layers that are being unpacked, versions of projected volumes.
  [/(\/tmp\/[^\s"':/]*?)\d{6,}/g, "$1<id>"],
  [/(\/staging\/l-)\w{6}/g, "$1<id>"],
  [/\.\.\d{4}(?:_\d\d){5}\.\w+/g, "..<version>"],
  // Addresses of values in Go programs: `runtime list map[runc:0xc000123456]`.
  [/\b0x[0-9a-f]{6,16}\b/g, "<address>"],
  // Local ports of connections: `read tcp 10.0.0.1:43210->10.0.0.2:443`.
  [/:\d+->/g, ":<port>->"],
];

/** Replaces random IDs and temporary paths, so that conditions stay the same and events are counted as one. */
export function withoutRandomIds(text: string): string {
  return randomParts.reduce(
    (done, [pattern, replacement]) => done.replace(pattern, replacement),
    unwrapLogLine(text),
  );
}
