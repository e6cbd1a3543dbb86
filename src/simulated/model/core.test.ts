import { expect, test } from "vitest";
import { LinuxContainerResources, Mount } from "../../cri/generated/cri.ts";
import { createDeduplicator } from "./core.ts";

test("shares equal messages and distinguishes different ones", () => {
  const dedupe = createDeduplicator();
  const limits = (cpuShares: bigint) => LinuxContainerResources.fromPartial({ cpuShares });
  expect(dedupe.resources(limits(5n))).toBe(dedupe.resources(limits(5n)));
  expect(dedupe.resources(limits(6n))).toEqual(limits(6n));
  expect(dedupe.resources(undefined)).toBeUndefined();
});

test("stays correct when the table is cleared", () => {
  const dedupe = createDeduplicator();
  for (let i = 0; i < 1_000; i++) expect(dedupe.labels({ app: `web-${i}` })).toEqual({ app: `web-${i}` });
});

test("omits the default values of a mount", () => {
  const mounts = [
    Mount.fromPartial({ containerPath: "/a", hostPath: "/b" }),
    Mount.fromPartial({ containerPath: "/c", readonly: true, propagation: 2, mountOptions: ["noexec"] }),
  ];
  expect(createDeduplicator().mounts(mounts).map(Mount.fromPartial)).toEqual(mounts);
});
