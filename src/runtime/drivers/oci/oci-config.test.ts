import { describe, expect, it } from "vitest";
import type { ContainerSpec, Mount } from "../driver.ts";
import { ociMounts, rootPropagation } from "./oci-config.ts";

const mount: Mount = {
  source: "/src",
  destination: "/dst",
  readonly: false,
  propagation: "private",
  recursiveReadonly: false,
};
const specWith = (mounts: Mount[]) =>
  ({ mounts, security: { privileged: false } }) as unknown as ContainerSpec;
const own = (change: Partial<Mount>) =>
  ociMounts(specWith([{ ...mount, ...change }])).find(({ type }) => type === "bind");

describe("ociMounts", () => {
  it.each([
    [{}, ["rbind", "rprivate", "rw"]],
    [{ readonly: true }, ["rbind", "rprivate", "ro"]],
    [{ readonly: true, recursiveReadonly: true }, ["rbind", "rprivate", "ro", "rro"]],
    [{ recursiveReadonly: true }, ["rbind", "rprivate", "rw"]],
    [{ propagation: "hostToContainer" }, ["rbind", "rslave", "rw"]],
    [{ propagation: "bidirectional" }, ["rbind", "rshared", "rw"]],
  ] as const)("%j", (change, options) => {
    expect(own(change)?.options).toEqual(options);
  });

  it("orders parents before children", () => {
    const mounts = [
      { ...mount, destination: "/a/b/c" },
      { ...mount, destination: "/a" },
      { ...mount, destination: "/dev/shm" },
    ];
    const places = ociMounts(specWith(mounts)).map(({ destination }) => destination);
    expect(places.indexOf("/a")).toBeLessThan(places.indexOf("/a/b/c"));
    expect(places.indexOf("/dev")).toBeLessThan(places.indexOf("/dev/shm"));
    expect(places.filter((place) => place === "/dev/shm")).toHaveLength(1);
  });

  it("keeps destinations inside the root", () => {
    expect(own({ destination: "../../etc" })?.destination).toBe("/etc");
  });
});

it.each([
  [[], undefined],
  [["private"], undefined],
  [["private", "hostToContainer"], "rslave"],
  [["hostToContainer", "bidirectional"], "rshared"],
] as const)("the root propagation for %j is %s", (kinds, propagation) => {
  expect(rootPropagation(kinds.map((kind) => ({ ...mount, propagation: kind })))).toBe(propagation);
});
