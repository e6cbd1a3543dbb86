import { expect, test } from "vitest";
import { formatLabels } from "./format-labels.ts";

test("hostile values stay inside their quotes", () => {
  expect(formatLabels({ a: 'x"} 1\n# TYPE \\', b: "ok" })).toBe('a="x\\"} 1\\n# TYPE \\\\",b="ok"');
});
