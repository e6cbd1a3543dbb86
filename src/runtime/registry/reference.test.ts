import { expect, test } from "vitest";
import { parseReference } from "./reference.ts";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

test.each([["busybox"], ["127.0.0.1:5000/a/b/c"], ["[::1]:5000/app"], [`quay.io/x/y:tag@${digest}`]])(
  "%s",
  (text) => {
    expect(parseReference(text).repository).not.toBe("");
  },
);

test.each([
  ["", "invalid reference format"],
  ["UPPER", "repository name must be lowercase"],
  ["a/../b", "invalid reference format"],
  [`app@sha512:${"0123456789abcdef".repeat(8)}`, "must be sha256"],
  ["host.io:999999/app", "host.io:999999 is not a registry's host"],
  ["[1:2]/app", "[1:2] is not a registry's host"],
])("rejects %j", (text, why) => {
  expect(() => parseReference(text)).toThrow(
    expect.objectContaining({ code: "invalidReference", message: expect.stringContaining(why) }),
  );
});
