import { expect, it } from "vitest";
import { readableComplaint } from "./oci-runtime.ts";

it.each([
  ['time="2026" level=error msg="exec failed: \\"x\\": not found"\n', 'exec failed: "x": not found'],
  ["warning\n2026-01-01 error: unknown option\n", "2026-01-01 error: unknown option"],
  ["", ""],
])("%j", (said, readable) => {
  expect(readableComplaint(said)).toBe(readable);
});
