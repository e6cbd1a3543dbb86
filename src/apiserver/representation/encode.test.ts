import { describe, expect, test } from "vitest";
import { encode, wantsPretty } from "./encode.ts";

describe("encode", () => {
  const value = { kind: "A", data: { on: "yes", long: "x ".repeat(60).trim() }, count: 1 };

  test("JSON", async () => {
    expect(await encode(value, { format: "json" })).toBe(`${JSON.stringify(value)}\n`);
    expect(await encode(value, { format: "json", pretty: true })).toBe(JSON.stringify(value, undefined, 2));
  });

  test("YAML has sorted keys, no folded lines, and quotes words that YAML 1.1 readers take for booleans", async () => {
    expect(await encode(value, { format: "yaml" })).toBe(
      `count: 1\ndata:\n  long: ${value.data.long}\n  "on": "yes"\nkind: A\n`,
    );
  });
});

test.each([
  [{ userAgent: "curl/8.5" }, true],
  [{ userAgent: "Mozilla/5.0 (X11)" }, true],
  [{ userAgent: "kubectl/v1.36.0" }, false],
  [{}, false],
  [{ pretty: "true" }, true],
  [{ pretty: "0", userAgent: "curl/8.5" }, false],
  [{ pretty: "nonsense", userAgent: "curl/8.5" }, false],
])("wantsPretty %j", (request, expected) => {
  expect(wantsPretty(request)).toBe(expected);
});
