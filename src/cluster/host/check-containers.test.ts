import { expect, test } from "vitest";
import { decideCapabilities, decideCgroups } from "./check-containers.ts";

test.each([
  ["all of them", "000001ffffffffff", undefined],
  ["what Docker gives by default", "00000000a80425fb", true],
  ["none", "0000000000000000", true],
])("root with %s", (_, capEff, fatal) => {
  const status = `Name:\tnode\nCapPrm:\t0\nCapEff:\t${capEff}\nCapBnd:\t0\n`;
  expect(decideCapabilities(status)?.fatal).toBe(fatal);
});

test("assumes all capabilities if the kernel does not report them", () => {
  expect(decideCapabilities("")).toBeUndefined();
});

test.each([
  ["v2", [], "auto", undefined],
  ["hybrid", [], "oci", undefined],
  ["none", [], "oci", { fatal: true, says: "choose --runtime host" }],
  ["none", [], "auto", { fatal: false, says: "without limits" }],
  ["none", [], "host", { fatal: false, says: "without limits" }],
  ["v2", ["/sys/fs/cgroup"], "auto", { fatal: true, says: "/sys/fs/cgroup cannot be written to here" }],
] as const)("%s, read-only %j, driver %s", (kind, readOnly, driver, expected) => {
  const problem = decideCgroups({ kind, readOnly, driver });
  expect(problem?.fatal).toBe(expected?.fatal);
  expect(problem?.sentence ?? "").toContain(expected?.says ?? "");
});
