import { expect, test } from "vitest";
import { makePod } from "../container/make-pod.fixture.ts";
import { nestedMountPoints } from "./nested-mount-points.ts";
import { usedVolumes, volumeKind } from "./used-volumes.ts";

const mounts = (...pairs: [string, string][]) =>
  makePod({
    containers: [
      { name: "c", image: "i", volumeMounts: pairs.map(([name, mountPath]) => ({ name, mountPath })) },
    ],
    volumes: [
      { name: "config", configMap: { name: "x" } },
      { name: "unused", nfs: { server: "s", path: "/" } },
    ],
  });

test.each<[string, [string, string][], string[]]>([
  ["none", [["config", "/etc/app"]], []],
  [
    "the outermost only",
    [
      ["config", "/etc/app/"],
      ["tls", "/etc/app/tls"],
      ["ca", "/etc/app/tls/ca"],
      ["more", "/etc/app/tls-more"],
      ["other", "/etc/application"],
    ],
    ["tls", "tls-more"],
  ],
  [
    "in the root",
    [
      ["config", "/"],
      ["deep", "/a/b/c"],
    ],
    ["a/b/c"],
  ],
])("mount points inside a volume: %s", (_name, pairs, expected) => {
  expect(nestedMountPoints(mounts(...pairs), "config")).toEqual(expected);
});

test("a mount point that leaves the container is refused", () => {
  expect(() => nestedMountPoints(mounts(["config", "../../x"]), "config")).toThrow(
    "invalid container mount point ../../x",
  );
});

test("only volumes that a container mounts are used", () => {
  expect(usedVolumes(mounts(["config", "/x"])).map((volume) => volume.name)).toEqual(["config"]);
});

test("a volume without a source is an empty directory", () => {
  expect(volumeKind({ name: "v" })).toBe("emptyDir");
  expect(volumeKind({ name: "v", csi: { driver: "d" } })).toBe("csi");
});
