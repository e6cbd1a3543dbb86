import { type ServiceError, status } from "@grpc/grpc-js";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";

const awayCodes = [
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.INTERNAL,
  status.UNKNOWN,
];

/** Whether the member, its connection or its leader is gone, in contrast to an answer that we do not like. */
export function isAway(error: unknown): error is ServiceError {
  return isGrpcError(error, ...awayCodes);
}

/** No member answers: what each was last heard of. */
export function nobodyAnswers(failures: ReadonlyMap<string, ServiceError>): StoreError {
  const reasons = [...failures].map(([url, error]) => `${url}: ${describeAway(error.details)}`);
  const cause = [...failures.values()].at(-1);
  return new StoreError("unavailable", `etcd is unavailable: ${reasons.join("; ")}`, { cause });
}

export function outcomeUnknown(error: ServiceError, url: string): StoreError {
  const message = `etcd at ${url} failed, so the write may or may not have happened`;
  return new StoreError("unavailable", `${message}: ${describeAway(error.details)}`, { cause: error });
}

/** What grpc-js says about a lost or missing connection, less its own bookkeeping. */
export function describeAway(details: string): string {
  const lastError = /Last error: (Error: )?(?<reason>.*?)( \(\d{4}-[^)]*Z\))?\. Resolution note:/s.exec(
    details,
  );
  const reason = lastError?.groups?.reason?.trim() ?? details;
  const alert = /[^:]* alert [^:]*(certificate|unknown ca)[^:]*/.exec(reason)?.[0];
  return alert ? `it does not accept our client certificate, or the lack of one (${alert})` : reason;
}

/** etcd says what went wrong in words; several of its errors share one gRPC code. */
const codesByDetails: Readonly<Record<string, StoreErrorCode>> = {
  "etcdserver: mvcc: required revision has been compacted": "compacted",
  "etcdserver: mvcc: required revision is a future revision": "futureRevision",
  "etcdserver: mvcc: database space exceeded": "noSpace",
  "etcdserver: request is too large": "valueTooLarge",
  "etcdserver: corrupt cluster": "corrupt",
};

export function fromEtcdAnswer(error: ServiceError, url: string): StoreError {
  const code = codesByDetails[error.details] ?? (isTooLarge(error) ? "valueTooLarge" : "unavailable");
  return new StoreError(code, `etcd at ${url} answered: ${error.details}`, { cause: error });
}

/** Far beyond etcd's own limit, its gRPC server refuses a message before etcd sees it. */
function isTooLarge(error: ServiceError): boolean {
  return error.code === status.RESOURCE_EXHAUSTED && error.details.includes("message larger than max");
}

/** What etcd always sends, though its message format does not promise it. */
export function expectPart<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new StoreError("unavailable", `etcd answered without ${name}`);
  return part;
}
