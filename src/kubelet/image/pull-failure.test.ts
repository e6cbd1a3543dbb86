import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { criErrorText } from "../../cri/error-text.ts";
import { explainPullFailure, joinErrors } from "./pull-failure.ts";

test.each([
  ["not found", { reason: "ErrImagePull", message: "not found" }],
  [
    "RegistryUnavailable: dial tcp: timeout",
    {
      reason: "RegistryUnavailable",
      message: "image pull failed for app because the registry is unavailable: dial tcp: timeout",
    },
  ],
  [
    "SignatureValidationFailed",
    {
      reason: "SignatureValidationFailed",
      message: "image pull failed for app because the signature validation failed",
    },
  ],
  ["x RegistryUnavailable", { reason: "ErrImagePull", message: "x RegistryUnavailable" }],
])("%s", (error, failure) => {
  expect(explainPullFailure("app", error)).toEqual(failure);
});

const grpc = (code: status, details: string) => Object.assign(new Error("x"), { code, details });
test.each([
  [grpc(status.NOT_FOUND, "no such image"), "rpc error: code = NotFound desc = no such image"],
  [grpc(status.DEADLINE_EXCEEDED, "no progress"), "rpc error: code = DeadlineExceeded desc = no progress"],
  [grpc(status.UNAUTHENTICATED, "who?"), "rpc error: code = Unauthenticated desc = who?"],
  [grpc(status.UNKNOWN, "RegistryUnavailable: x"), "RegistryUnavailable: x"],
  [new Error("plain"), "plain"],
  ["text", "text"],
])("error %#", (error, text) => {
  expect(criErrorText(error)).toBe(text);
});

test.each([
  [["a"], "a"],
  [["a", "a"], "a"],
  [["a", "b", "a"], "[a, b]"],
])("%j", (errors, text) => {
  expect(joinErrors(errors)).toBe(text);
});
