import { expect, test } from "vitest";
import { decideCapabilities } from "./check-containers.ts";

test.each([
  ["all of them", "000001ffffffffff", undefined],
  ["what Docker gives by default", "00000000a80425fb", true],
  ["none", "0000000000000000", true],
])("root with %s", (_, capEff, fatal) => {
  const status = `Name:\tnode\nCapPrm:\t0\nCapEff:\t${capEff}\nCapBnd:\t0\n`;
  expect(decideCapabilities(status)?.fatal).toBe(fatal);
});

test("a kernel that does not tell is believed to give what is needed", () => {
  expect(decideCapabilities("")).toBeUndefined();
});
