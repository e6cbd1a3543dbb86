import { expect, test } from "vitest";
import { endOfJsonValue } from "./lazy-spec.ts";

const values: unknown[] = [
  {},
  [],
  "",
  "plain",
  'a "quoted" word, {not} [open]',
  "ends with a backslash \\",
  'backslashes before a quote \\\\" and \\"',
  "日本 \ud800 \u0000",
  0,
  -1.5e300,
  true,
  null,
  { a: [1, { b: '}"' }], c: "]" },
  [[[]], {}, "x"],
];

test.each(values.map((value) => ({ json: JSON.stringify(value) })))("finds the end of $json", ({ json }) => {
  for (const [before, after] of [
    ["", ""],
    ['{"a":', "}"],
    ['{"a":', ',"b":1}'],
    ["[1,", "]"],
    ["[", ",2]"],
  ] as const) {
    const whole = before + json + after;
    expect(endOfJsonValue(whole, before.length)).toBe(before.length + json.length);
  }
});
