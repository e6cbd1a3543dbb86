import { expect, test } from "vitest";
import { LinuxContainerResources, Mount } from "../cri/generated/cri.ts";
import { createSharing } from "./sharing.ts";

test("equal messages are one, different ones are not", () => {
  const sharing = createSharing();
  const limits = (cpuShares: bigint) => LinuxContainerResources.fromPartial({ cpuShares });
  expect(sharing.resources(limits(5n))).toBe(sharing.resources(limits(5n)));
  expect(sharing.resources(limits(6n))).toEqual(limits(6n));
  expect(sharing.resources(undefined)).toBeUndefined();
});

test("many different ones are kept right, also when they are forgotten on the way", () => {
  const sharing = createSharing();
  for (let i = 0; i < 1_000; i++) expect(sharing.labels({ app: `web-${i}` })).toEqual({ app: `web-${i}` });
});

test("a mount is the same with its defaults", () => {
  const mounts = [
    Mount.fromPartial({ containerPath: "/a", hostPath: "/b" }),
    Mount.fromPartial({ containerPath: "/c", readonly: true, propagation: 2, mountOptions: ["noexec"] }),
  ];
  expect(createSharing().mounts(mounts).map(Mount.fromPartial)).toEqual(mounts);
});
