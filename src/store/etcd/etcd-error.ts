import { type ServiceError, status } from "@grpc/grpc-js";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";

const unavailableCodes = [
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.INTERNAL,
  status.UNKNOWN,
];

/** Reports whether the member, its connection or its leader is unavailable, as opposed to an error from etcd. */
export function isUnavailable(error: unknown): error is ServiceError {
  return isGrpcError(error, ...unavailableCodes);
}

/** All members are unavailable: lists the last error of each. */
export function allMembersUnavailable(failures: ReadonlyMap<string, ServiceError>): StoreError {
  const reasons = [...failures].map(([url, error]) => `${url}: ${describeFailure(error.details)}`);
  const cause = [...failures.values()].at(-1);
  return new StoreError("unavailable", `etcd is unavailable: ${reasons.join("; ")}`, { cause });
}

export function outcomeUnknown(error: ServiceError, url: string): StoreError {
  const message = `etcd at ${url} failed; the write may or may not have been applied`;
  return new StoreError("unavailable", `${message}: ${describeFailure(error.details)}`, { cause: error });
}

/** Extracts the cause from grpc-js's description of a connection failure. */
export function describeFailure(details: string): string {
  const lastError = /Last error: (Error: )?(?<reason>.*?)( \(\d{4}-[^)]*Z\))?\. Resolution note:/s.exec(
    details,
  );
  const reason = lastError?.groups?.reason?.trim() ?? details;
  const alert = /[^:]* alert [^:]*(certificate|unknown ca)[^:]*/.exec(reason)?.[0];
  return alert ? `it rejects our client certificate, or requires one (${alert})` : reason;
}

/** Maps etcd's error texts, because several errors share one gRPC code. */
const codesByDetails: Readonly<Record<string, StoreErrorCode>> = {
  "etcdserver: mvcc: required revision has been compacted": "compacted",
  "etcdserver: mvcc: required revision is a future revision": "futureRevision",
  "etcdserver: mvcc: database space exceeded": "noSpace",
  "etcdserver: request is too large": "valueTooLarge",
  "etcdserver: corrupt cluster": "corrupt",
};

export function fromEtcdError(error: ServiceError, url: string): StoreError {
  const code = codesByDetails[error.details] ?? (isTooLarge(error) ? "valueTooLarge" : "unavailable");
  return new StoreError(code, `etcd at ${url} failed: ${error.details}`, { cause: error });
}

/** Messages far above etcd's limit are rejected by its gRPC server. */
function isTooLarge(error: ServiceError): boolean {
  return error.code === status.RESOURCE_EXHAUSTED && error.details.includes("message larger than max");
}

/** Asserts a part of a response that etcd always sends although the message format makes it optional. */
export function expectPart<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new StoreError("unavailable", `the response of etcd lacks ${name}`);
  return part;
}
