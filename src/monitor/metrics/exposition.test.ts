import { expect, test } from "vitest";
import { chooseFormat, encodePieces, toOpenMetrics } from "./exposition.ts";

test.each([
  [undefined, "prometheus"],
  ["*/*", "prometheus"],
  ["text/plain;version=0.0.4", "prometheus"],
  [
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5",
    "openmetrics",
  ],
  ["text/plain, application/openmetrics-text; q=0", "prometheus"],
])("Accept: %s gets %s", (accept, format) => {
  expect(chooseFormat(accept)).toBe(format);
});

test("counters lose _total in what describes them, and nothing else changes", () => {
  const text = [
    "# HELP a_total How a_total many",
    "# TYPE a_total counter",
    'a_total{x="# TYPE a_total counter"} 1',
    "# HELP b_total Not a counter",
    "# TYPE b_total gauge",
    "b_total 2",
    "",
  ].join("\n");
  expect(toOpenMetrics(text)).toBe(
    [
      "# HELP a How a_total many",
      "# TYPE a counter",
      'a_total{x="# TYPE a_total counter"} 1',
      "# HELP b_total Not a counter",
      "# TYPE b_total gauge",
      "b_total 2",
      "",
    ].join("\n"),
  );
});

test("pieces become one text, whatever characters are in them", () => {
  expect(encodePieces(["a ü\n", "", "😀", "z"]).toString()).toBe("a ü\n😀z");
});
