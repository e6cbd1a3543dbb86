import { expect, it } from "vitest";
import { runtimeErrorMessage } from "./probe-oci-runtime.ts";

it.each([
  ['time="2026" level=error msg="exec failed: \\"x\\": not found"\n', 'exec failed: "x": not found'],
  ["warning\n2026-01-01 error: unknown option\n", "2026-01-01 error: unknown option"],
  ["", ""],
])("%j", (output, readable) => {
  expect(runtimeErrorMessage(output)).toBe(readable);
});

it.each([
  ['time="2026" level=error msg="exec failed: \\"x\\": not found"\n', 'exec failed: "x": not found'],
  ["warning\n2026-01-01 error: unknown option\n", "2026-01-01 error: unknown option"],
  ["", ""],
])("%j", (output, readable) => {
  expect(runtimeErrorMessage(output)).toBe(readable);
});
