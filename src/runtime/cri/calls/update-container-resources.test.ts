import { expect, test } from "vitest";
import { LinuxContainerResources } from "../../../cri/generated/cri.ts";
import { mergeResources } from "./update-container-resources.ts";

test("keeps values that an update does not set", () => {
  const before = LinuxContainerResources.fromPartial({ cpuShares: 512n, cpuQuota: 1_000n, cpusetCpus: "0" });
  const update = LinuxContainerResources.fromPartial({ cpuQuota: 2_000n, memoryLimitInBytes: 64n });
  expect(mergeResources(before, update)).toMatchObject({
    cpuShares: 512n,
    cpuQuota: 2_000n,
    memoryLimitInBytes: 64n,
    cpusetCpus: "0",
  });
  expect(mergeResources(undefined, update).cpuQuota).toBe(2_000n);
});
