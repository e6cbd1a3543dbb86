import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { PersistentVolume } from "../../api/meta/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createFakeApi } from "./fake-api.fixture.ts";
import { createFakeMounter } from "./fake-mounter.fixture.ts";
import { isReachableFrom, setUpClaim } from "./persistent-volume-claim.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const isRoot = process.getuid?.() === 0;
let count = 0;

const boundClaim = {
  metadata: { namespace: "shop", name: "data", uid: "claim-1" },
  spec: { volumeName: "pv" },
  status: { phase: "Bound" },
};
const volumeOf = (spec: object) => ({
  metadata: { name: "pv" },
  spec: { claimRef: { uid: "claim-1" }, ...spec },
});

function start(persistent: ReturnType<typeof volumeOf>, claim: typeof boundClaim | object = boundClaim) {
  const clock = createManualClock();
  const api = createFakeApi(clock);
  api.put("persistentvolumeclaims", { ...boundClaim, ...claim });
  api.put("persistentvolumes", persistent);
  const podsDir = join(folder, `pods-${count++}`);
  const deps = {
    client: api.client,
    clock,
    logger: silentLogger,
    mounter: createFakeMounter(),
    node: () => ({ name: "n1", labels: { zone: "a" }, allocatable: {} }),
  };
  const request = (uid: string, options: { fsGroup?: number; readOnly?: boolean; device?: boolean } = {}) => {
    const { fsGroup, readOnly, device } = options;
    const volume = { name: "v", persistentVolumeClaim: { claimName: "data", readOnly } };
    const use = device
      ? { volumeDevices: [{ name: "v", devicePath: "/dev/x" }] }
      : { volumeMounts: [{ name: "v", mountPath: "/x" }] };
    const pod = makePod(
      { volumes: [volume], containers: [{ name: "c", image: "i", ...use }], securityContext: { fsGroup } },
      { uid },
    );
    const podDir = join(podsDir, uid);
    mkdirSync(podDir, { recursive: true });
    return { pod, volume, podDir, signal: new AbortController().signal };
  };
  return { api, deps, request };
}

function newDirectory(): string {
  const path = join(folder, `data-${count++}`);
  mkdirSync(path);
  return path;
}

test("a claim on a local volume uses its directory, and later works without the API server", async () => {
  const path = newDirectory();
  const { api, deps, request } = start(volumeOf({ local: { path } }));
  expect(await setUpClaim(deps, request("u-1"))).toEqual({ hostPath: path, readOnly: false });
  api.breakConnection();
  expect(await setUpClaim(deps, request("u-1", { readOnly: true }))).toEqual({
    hostPath: path,
    readOnly: true,
  });
  await expect(setUpClaim(deps, request("u-2"))).rejects.toThrow("connection refused");
});

test("ignores a record that is incomplete after a crash", async () => {
  const path = newDirectory();
  const { deps, request } = start(volumeOf({ local: { path } }));
  await setUpClaim(deps, request("u-1"));
  const note = join(request("u-1").podDir, "plugins/kubernetes.io~persistent-volume/v/claim.json");
  expect(existsSync(note)).toBe(true);
  for (const text of ["", "{", "null", '{"hostPath":1}']) {
    writeFileSync(note, text);
    expect(await setUpClaim(deps, request("u-1"))).toEqual({ hostPath: path, readOnly: false });
  }
});

test("a claim on a hostPath volume creates the path if its type allows it", async () => {
  const path = join(folder, "made");
  const { deps, request } = start(volumeOf({ hostPath: { path, type: "DirectoryOrCreate" } }));
  expect(await setUpClaim(deps, request("u-1"))).toEqual({ hostPath: path, readOnly: false });
  expect(statSync(path).isDirectory()).toBe(true);
});

test.skipIf(!isRoot)("the first pod gives a local volume its group, later ones leave it", async () => {
  const path = newDirectory();
  const { deps, request } = start(volumeOf({ local: { path } }));
  await setUpClaim(deps, request("u-0", { fsGroup: 5_000, readOnly: true }));
  expect(statSync(path).gid).toBe(0);
  const other = start(volumeOf({ local: { path } }));
  await setUpClaim(other.deps, other.request("u-1", { fsGroup: 5_001 }));
  expect([statSync(path).gid, statSync(path).mode & 0o2770]).toEqual([5_001, 0o2770]);
  await setUpClaim(other.deps, other.request("u-2", { fsGroup: 5_002 }));
  expect(statSync(path).gid).toBe(5_001);
});

const unmounted =
  "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: " +
  "error processing PVC shop/data: ";

test.each([
  ["not bound", { status: { phase: "Pending" } }, {}, `${unmounted}PVC is not bound`],
  ["no volume", { spec: {} }, {}, `${unmounted}PVC has empty pvc.Spec.VolumeName`],
  [
    "being deleted",
    { metadata: { ...boundClaim.metadata, deletionTimestamp: "2031-01-01T00:00:00Z" } },
    {},
    `${unmounted}PVC is being deleted`,
  ],
  [
    "a volume that is gone",
    { spec: { volumeName: "none" } },
    {},
    `${unmounted}failed to fetch PV none from API server: persistentvolumes "none" not found`,
  ],
  [
    "a volume that belongs to no claim",
    {},
    { claimRef: undefined },
    `${unmounted}found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
  ],
  [
    "a volume of another claim",
    {},
    { claimRef: { uid: "claim-0" } },
    `${unmounted}found PV object pv but its pv.Spec.ClaimRef.UID claim-0 does not point to claim.UID claim-1`,
  ],
  [
    "a volume elsewhere",
    {},
    {
      local: { path: "/" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] }],
        },
      },
    },
    'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
  ],
  [
    "a block device",
    {},
    { local: { path: "/" }, volumeMode: "Block" },
    "volume v has volumeMode Block, but is specified in volumeMounts",
  ],
  [
    "mount options",
    {},
    { local: { path: "/" }, mountOptions: ["noatime"] },
    'MountVolume.MountOptionSupport check failed for volume "pv" : mount options are not supported for this volume type',
  ],
  [
    "a path that is missing",
    {},
    { local: { path: "/proc/none" } },
    'MountVolume.SetUp failed for volume "pv" : path "/proc/none" does not exist',
  ],
  [
    "a device",
    {},
    { local: { path: "/dev/null" } },
    'MountVolume.SetUp failed for volume "pv" : local.path "/dev/null" is not a directory, and this kubelet formats ' +
      "no devices: mount it first",
  ],
  [
    "another kind",
    {},
    { csi: { driver: "d", volumeHandle: "h" }, capacity: { storage: "1Gi" } },
    'MountVolume.SetUp failed for volume "pv" : csi volumes are not supported by this kubelet',
  ],
])("rejects a claim: %s", async (_name, claim, spec, message) => {
  const { deps, request } = start(volumeOf(spec), claim);
  await expect(setUpClaim(deps, request("u-1"))).rejects.toThrow(
    expect.objectContaining({ name: "VolumeProblem", message }),
  );
});

test("rejects a missing claim", async () => {
  const { api, deps, request } = start(volumeOf({}));
  api.remove("persistentvolumeclaims", "shop", "data");
  await expect(setUpClaim(deps, request("u-1"))).rejects.toThrow(
    `${unmounted}failed to fetch PVC from API server: persistentvolumeclaims "data" not found`,
  );
});

test("rejects a filesystem volume that is used as a device", async () => {
  const { deps, request } = start(volumeOf({ local: { path: "/" } }));
  await expect(setUpClaim(deps, request("u-1", { device: true }))).rejects.toThrow(
    "volume v has volumeMode Filesystem, but is specified in volumeDevices",
  );
});

const node = { name: "n1", labels: { zone: "a", disks: "4" } };

function volume(...nodeSelectorTerms: object[]): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv" },
    spec: { nodeAffinity: { required: { nodeSelectorTerms } } },
  };
}

const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

test.each([
  ["no affinity", { apiVersion: "v1", kind: "PersistentVolume", metadata: {} }, true],
  ["In", volume(expression("zone", "In", "a", "b")), true],
  ["not In", volume(expression("zone", "In", "b")), false],
  ["NotIn", volume(expression("zone", "NotIn", "b")), true],
  ["Exists", volume(expression("zone", "Exists")), true],
  ["DoesNotExist", volume(expression("zone", "DoesNotExist")), false],
  ["Gt", volume(expression("disks", "Gt", "3")), true],
  ["Lt", volume(expression("disks", "Lt", "4")), false],
  ["an invalid operator", volume(expression("zone", "Near", "a")), false],
  ["one term of two", volume(expression("zone", "In", "b"), expression("zone", "In", "a")), true],
  ["an empty term", volume({}), false],
  ["no term", volume(), false],
  [
    "the node's name",
    volume({ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }),
    true,
  ],
  [
    "all of one term",
    volume({
      ...expression("zone", "In", "a"),
      matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }],
    }),
    false,
  ],
])("a volume's node affinity: %s", (_name, persistent, reachable) => {
  expect(isReachableFrom(persistent, node)).toBe(reachable);
});
