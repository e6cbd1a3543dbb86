import { expect, test } from "vitest";
import { LinuxContainerResources } from "../../cri/generated/cri.ts";
import { linuxResources } from "./container-security.ts";

const asked = (part: Partial<LinuxContainerResources>) =>
  linuxResources(LinuxContainerResources.fromPartial(part));

test.each([
  ["nothing", {}, {}],
  ["some limits, zero for the others", { cpuShares: 2n, cpusetCpus: "0" }, { cpuShares: 2, cpusetCpus: "0" }],
  [
    "no huge pages",
    { hugepageLimits: [{ pageSize: "2MB", limit: 0n }] },
    { hugepageLimits: [{ pageSize: "2MB", limitBytes: 0 }] },
  ],
  ["files of cgroup v2", { unified: { "memory.high": "9" } }, { unified: { "memory.high": "9" } }],
])("limits: %s", (_name, request, expected) => {
  expect(asked(request)).toEqual(expected);
});

test("a page size that would be part of another file's name is refused", () => {
  const hugepageLimits = [{ pageSize: "2MB/../../memory", limit: 0n }];
  expect(() => asked({ hugepageLimits })).toThrow(/page_size .* is not like 2MB/);
});
