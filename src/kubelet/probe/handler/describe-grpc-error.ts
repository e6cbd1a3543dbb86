import { status } from "@grpc/grpc-js";
import { isGrpcError } from "../../../lib/grpc-call.ts";
import { messageOf } from "../../../lib/message-of.ts";

export function describeGrpcError(error: unknown): string {
  if (isGrpcError(error)) return describeStatus(error.code, error.details);
  return messageOf(error);
}

/** `rpc error: code = NotFound desc = unknown service`, as the messages have it that users know. */
export function describeStatus(code: status, details: string): string {
  const words = (status[code] ?? "UNKNOWN").split("_");
  const name = words.map((word) => word.slice(0, 1) + word.slice(1).toLowerCase()).join("");
  return `rpc error: code = ${name} desc = ${details}`;
}
