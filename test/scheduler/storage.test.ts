import { expect, test } from "vitest";
import type { PersistentVolumeClaim, StorageClass } from "../../src/api/meta/objects.ts";
import { makeNode, namespace, useSchedulerCluster } from "../support/cluster/scheduler-cluster.ts";

const cluster = useSchedulerCluster();
const { createPod, nodeOf, startScheduler, untilBound, untilRefused } = cluster;

const storageClass = (parts: Partial<StorageClass>): StorageClass => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "late" },
  provisioner: "example.com/disk",
  volumeBindingMode: "WaitForFirstConsumer",
  ...parts,
});
const claim: PersistentVolumeClaim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", namespace },
  spec: {
    accessModes: ["ReadWriteOnce"],
    storageClassName: "late",
    resources: { requests: { storage: "1Gi" } },
  },
};
const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
const getClaim = () => cluster.client.get("persistentvolumeclaims", { namespace, name: "data" });

/** Acts as the controller that binds volumes. */
async function completeClaim(volumeName: string): Promise<void> {
  const { metadata, spec, ...rest } = await getClaim();
  const annotations = { ...metadata.annotations, "pv.kubernetes.io/bind-completed": "yes" };
  await cluster.client.update("persistentvolumeclaims", {
    ...rest,
    metadata: { ...metadata, annotations },
    spec: { ...spec, volumeName },
  });
}

test("names missing storage", async () => {
  await cluster.client.create("nodes", makeNode("a"));
  startScheduler();
  await createPod("web", { volumes });
  await untilRefused("web", '0/1 nodes are available: persistentvolumeclaim "data" not found.');
  await cluster.client.create("storageclasses", storageClass({ volumeBindingMode: "Immediate" }));
  await cluster.client.create("persistentvolumeclaims", claim);
  await untilRefused("web", "pod has unbound immediate PersistentVolumeClaims");
});

test("WaitForFirstConsumer volumes are provisioned on the pod's node, and the pod waits for them", async () => {
  await cluster.client.create("nodes", makeNode("a"));
  await cluster.client.create("storageclasses", storageClass({}));
  await cluster.client.create("persistentvolumeclaims", claim);
  startScheduler();
  await createPod("web", { volumes });
  await expect
    .poll(async () => (await getClaim()).metadata.annotations?.["volume.kubernetes.io/selected-node"])
    .toBe("a");
  // The pod waits, others do not.
  await createPod("other");
  await untilBound("other");
  expect(await nodeOf("web")).toBeUndefined();
  await completeClaim("disk");
  await untilBound("web");
});

test("an existing local volume is reserved for the claim and selects the node", async () => {
  for (const name of ["a", "b"]) await cluster.client.create("nodes", makeNode(name));
  await cluster.client.create(
    "storageclasses",
    storageClass({ provisioner: "kubernetes.io/no-provisioner" }),
  );
  await cluster.client.create("persistentvolumeclaims", claim);
  const disk = await cluster.client.create("persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "disk" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "late",
      capacity: { storage: "1Gi" },
      local: { path: "/mnt/disk" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["b"] }] },
          ],
        },
      },
    },
  });
  await cluster.client.update(
    "persistentvolumes",
    { ...disk, status: { phase: "Available" } },
    { subresource: "status" },
  );
  startScheduler();
  await createPod("web", { volumes });
  await expect
    .poll(async () => (await cluster.client.get("persistentvolumes", { name: "disk" })).spec?.claimRef?.name)
    .toBe("data");
  await completeClaim("disk");
  await untilBound("web");
  expect(await nodeOf("web")).toBe("b");
});
