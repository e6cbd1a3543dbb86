import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { criErrorText } from "../../cri/error-text.ts";
import { createPullBackoff, explainPullFailure, joinErrors } from "./pull-failures.ts";

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
])("explains %s", (error, failure) => {
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
])("formats error %#", (error, text) => {
  expect(criErrorText(error)).toBe(text);
});

test.each([
  [["a"], "a"],
  [["a", "a"], "a"],
  [["a", "b", "a"], "[a, b]"],
])("joins %j", (errors, text) => {
  expect(joinErrors(errors)).toBe(text);
});

const second = 1_000;
/** Fails a pull at `now` and returns the back-off in seconds. */
function waitAfter(backoff: ReturnType<typeof createPullBackoff>, now: number): number {
  backoff.failed("pod", "app", { startedAt: now, now, error: "e" });
  let seconds = 0;
  while (backoff.waiting("pod", "app", now + seconds * second) !== undefined) seconds++;
  return seconds;
}

test("backs off for 10 s, doubled by each failure, up to 300 s", () => {
  const backoff = createPullBackoff();
  let now = 0;
  const waits: number[] = [];
  for (let i = 0; i < 7; i++) {
    const wait = waitAfter(backoff, now);
    waits.push(wait);
    now += wait * second;
  }
  expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

test("resets after ten minutes without a failure, and for a deleted pod", () => {
  const backoff = createPullBackoff();
  waitAfter(backoff, 0);
  expect(waitAfter(backoff, 600 * second)).toBe(20);
  expect(waitAfter(backoff, 1_201 * second)).toBe(10);
  backoff.forget("pod");
  expect(waitAfter(backoff, 1_202 * second)).toBe(10);
});

test("concurrent pulls of one image count as one failure", () => {
  const backoff = createPullBackoff();
  backoff.failed("pod", "app", { startedAt: 0, now: 5 * second, error: "first" });
  backoff.failed("pod", "app", { startedAt: 1 * second, now: 6 * second, error: "second" });
  expect(backoff.waiting("pod", "app", 14 * second)).toBe("second");
  expect(backoff.waiting("pod", "app", 15 * second)).toBeUndefined();
});

test("other pods and images do not back off", () => {
  const backoff = createPullBackoff();
  backoff.failed("pod", "app", { startedAt: 0, now: 0, error: "e" });
  expect(backoff.waiting("pod", "other", 1)).toBeUndefined();
  expect(backoff.waiting("other", "app", 1)).toBeUndefined();
});
