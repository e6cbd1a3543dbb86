import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import {
  allMembersUnavailable,
  describeFailure,
  fromEtcdError,
  isUnavailable,
  outcomeUnknown,
} from "./failover.ts";

function grpcError(code: status, details: string): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}

test.each([
  [status.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", "compacted"],
  [status.OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision", "futureRevision"],
  [status.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", "noSpace"],
  [status.RESOURCE_EXHAUSTED, "grpc: received message larger than max (1000049 vs. 534288)", "valueTooLarge"],
  [status.RESOURCE_EXHAUSTED, "etcdserver: too many requests", "unavailable"],
  [status.INVALID_ARGUMENT, "etcdserver: request is too large", "valueTooLarge"],
  [status.DATA_LOSS, "etcdserver: corrupt cluster", "corrupt"],
  [status.PERMISSION_DENIED, "etcdserver: permission denied", "unavailable"],
])("%s %s is %s", (code, details, expected) => {
  const error = grpcError(code, details);
  expect(isUnavailable(error)).toBe(false);
  expect(fromEtcdError(error, "http://a:1")).toMatchObject({
    name: "StoreError",
    code: expected,
    message: `etcd at http://a:1 failed: ${details}`,
    cause: error,
  });
});

test.each([
  ["etcdserver: no leader", "etcdserver: no leader"],
  [
    "No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ",
    "connect ECONNREFUSED 127.0.0.1:1",
  ],
  [
    "No connection established. Last error: Failed to connect (2026-11-15T21:43:44.596Z). Resolution note: ",
    "Failed to connect",
  ],
  [
    "No connection established. Last error: 80CC:error:0A000412:SSL routines:read_bytes:sslv3 alert bad certificate" +
      ":../rec_layer_s3.c:1601:SSL alert number 42\n (2026-11-15T21:43:41.897Z). Resolution note: ",
    "it rejects our client certificate, or requires one (sslv3 alert bad certificate)",
  ],
])("%j is reported as %j", (details, expected) => {
  expect(describeFailure(details)).toBe(expected);
});

test("lists each member with its error when all are unavailable", () => {
  const refused = grpcError(status.UNAVAILABLE, "refused");
  const silent = grpcError(status.DEADLINE_EXCEEDED, "silent");
  const failures = new Map([
    ["http://a:1", refused],
    ["http://b:2", silent],
  ]);
  const message = "etcd is unavailable: http://a:1: refused; http://b:2: silent";
  expect(allMembersUnavailable(failures)).toMatchObject({ code: "unavailable", message, cause: silent });
});

test("reports an unknown outcome for a write without a response", () => {
  expect(outcomeUnknown(grpcError(status.UNAVAILABLE, "read ECONNRESET"), "http://a:1")).toMatchObject({
    code: "unavailable",
    message: "etcd at http://a:1 failed; the write may or may not have been applied: read ECONNRESET",
  });
});
