import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "../../src/api/meta/objects.ts";
import { useKubectlCluster } from "../support/cluster/kubectl-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const namespace = "default";

function claim(name: string, spec: Partial<PersistentVolumeClaim["spec"]> = {}): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  };
}

function volume(name: string, spec: Partial<PersistentVolume["spec"]> = {}): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: `/tmp/${name}` },
      storageClassName: "manual",
      ...spec,
    },
  };
}

function pod(name: string, claimName: string): Pod {
  return makePod(name, {
    container: { volumeMounts: [{ name: "data", mountPath: "/data" }] },
    volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
  });
}

describeWithTool("kubectl", "volumes", () => {
  const folder = temporaryFolder();
  const directory = join(folder, "volumes");
  const cluster = useKubectlCluster({ controllers: { localVolumes: { directory } } });
  const until = (what: () => Promise<unknown>) => expect.poll(what, { interval: 20 });
  const claimPhase = async (name: string) =>
    (await cluster.find("persistentvolumeclaims", name))?.status?.phase;
  const volumePhase = async (name: string) => (await cluster.find("persistentvolumes", name))?.status?.phase;
  const eventsOf = async (name: string) =>
    (
      await cluster.client.list("events", { namespace, fieldSelector: `involvedObject.name=${name}` })
    ).items.map(({ reason, message }) => `${reason}: ${message}`);

  test("there is a default class", async () => {
    await until(async () => (await cluster.find("storageclasses", "standard"))?.provisioner).toBe(
      "kindling.dev/local",
    );
    expect(await cluster.kubectl.ok("get storageclass")).toMatch(
      /standard \(default\) +kindling.dev\/local +Delete +WaitForFirstConsumer/,
    );
  });

  test("a claim is provisioned for its first pod as a directory on the pod's node, which is deleted with the claim", async () => {
    await cluster.apply(claim("data"));
    await until(() => eventsOf("data")).toContain(
      "WaitForFirstConsumer: waiting for first consumer to be created before binding",
    );
    expect(await claimPhase("data")).toBe("Pending");
    await cluster.apply(pod("web", "data"));
    await cluster.kubectl.ok("wait pod/web --for=condition=Ready --timeout=60s");
    await cluster.kubectl.ok("wait pvc/data --for=jsonpath={.status.phase}=Bound --timeout=60s");
    const bound = await cluster.find("persistentvolumeclaims", "data");
    const name = bound?.spec?.volumeName ?? "";
    expect(name).toBe(`pvc-${bound?.metadata.uid}`);
    expect(bound?.metadata.finalizers).toEqual(["kubernetes.io/pvc-protection"]);
    expect(await cluster.find("persistentvolumes", name)).toMatchObject({
      status: { phase: "Bound" },
      spec: { hostPath: { path: join(directory, name) }, claimRef: { name: "data" } },
    });
    await until(() => eventsOf("data")).toContain(
      `ProvisioningSucceeded: Successfully provisioned volume ${name} using kindling.dev/local`,
    );
    expect((await stat(join(directory, name))).mode & 0o777).toBe(0o777);
    await writeFile(join(directory, name, "kept"), "by the pod");

    // In use: it is deleted after the pod.
    await cluster.kubectl.ok("delete pvc data --wait=false");
    await delay(500);
    expect(await claimPhase("data")).toBe("Bound");
    expect(await readdir(join(directory, name))).toEqual(["kept"]);
    await cluster.kubectl.ok("delete pod web --timeout=60s");
    await cluster.untilGone("persistentvolumeclaims", "data");
    await cluster.untilGone("persistentvolumes", name);
    expect(await readdir(directory)).toEqual([]);
  });

  test("a claim gets the volume that fits it best; released data is kept until an administrator decides", async () => {
    await cluster.apply(
      volume("large", { capacity: { storage: "9Gi" } }),
      volume("small", { capacity: { storage: "100Mi" } }),
      volume("right", { capacity: { storage: "2Gi" } }),
      volume("special", { capacity: { storage: "1Gi" }, storageClassName: "special" }),
    );
    await until(() => volumePhase("right")).toBe("Available");
    await cluster.apply(claim("fitting", { storageClassName: "manual" }));
    await until(() => claimPhase("fitting")).toBe("Bound");
    expect(await cluster.find("persistentvolumeclaims", "fitting")).toMatchObject({
      spec: { volumeName: "right" },
      status: { capacity: { storage: "2Gi" } },
    });
    expect(await volumePhase("large")).toBe("Available");
    expect(await cluster.kubectl.ok("get pv right")).toMatch(/Bound +default\/fitting/);

    await cluster.kubectl.ok("delete pv right --wait=false");
    await delay(300);
    expect(await volumePhase("right")).toBe("Bound");
    await cluster.kubectl.ok("delete pvc fitting --timeout=60s");
    await cluster.untilGone("persistentvolumes", "right");

    await cluster.apply(claim("kept", { storageClassName: "manual", volumeName: "large" }));
    await until(() => claimPhase("kept")).toBe("Bound");
    await cluster.kubectl.ok("delete pvc kept --timeout=60s");
    await until(() => volumePhase("large")).toBe("Released");
    await cluster.apply(claim("late", { storageClassName: "manual", volumeName: "large" }));
    await until(() => eventsOf("late")).toContain(
      'FailedBinding: volume "large" already bound to a different claim.',
    );
    expect(await claimPhase("late")).toBe("Pending");
  });

  test("a volume that is created later is bound to the waiting claim", async () => {
    await cluster.apply(claim("early", { storageClassName: "later" }));
    await until(() => eventsOf("early")).toContain(
      'ProvisioningFailed: storageclass.storage.k8s.io "later" not found',
    );
    await cluster.apply(volume("later", { storageClassName: "later" }));
    await until(() => claimPhase("early")).toBe("Bound");
  });

  test("an annotation that a user wrote on a volume does not get files removed", async () => {
    const path = join(folder, "precious");
    await writeFile(path, "precious");
    const annotations = { "pv.kubernetes.io/provisioned-by": "kindling.dev/local" };
    const hostile = volume("pvc-0", { persistentVolumeReclaimPolicy: "Delete", hostPath: { path } });
    await cluster.apply({ ...hostile, metadata: { name: "pvc-0", annotations } });
    await cluster.apply(claim("bait", { storageClassName: "manual", volumeName: "pvc-0" }));
    await until(() => claimPhase("bait")).toBe("Bound");
    await cluster.kubectl.ok("delete pvc bait --timeout=60s");
    await until(() => volumePhase("pvc-0")).toBe("Failed");
    expect((await cluster.find("persistentvolumes", "pvc-0"))?.status?.message).toContain(
      "is not a directory that kindling.dev/local has created",
    );
    expect((await stat(path)).isFile()).toBe(true);
  });

  test("the provisioner rejects claims that it does not support, with an event", async () => {
    await cluster.apply(claim("shared", { accessModes: ["ReadWriteMany"] }), pod("shared", "shared"));
    await until(() => eventsOf("shared")).toContain(
      'ProvisioningFailed: Failed to provision volume with StorageClass "standard": kindling.dev/local only supports the access modes ReadWriteOnce and ReadWriteOncePod',
    );
    await cluster.kubectl.ok("delete pod/shared pvc/shared --timeout=60s");
  });

  test("continues after controllers stop in the middle, and sends no writes when it is done", async () => {
    await cluster.apply(claim("survivor"));
    await cluster.apply(pod("survivor", "survivor"));
    // Somewhere between the scheduler's choice and the binding.
    await cluster.stopControllers();
    await cluster.startControllers();
    await cluster.kubectl.ok("wait pod/survivor --for=condition=Ready --timeout=60s");
    const { volumeName = "" } = (await cluster.find("persistentvolumeclaims", "survivor"))?.spec ?? {};
    await cluster.untilAtRest();

    await cluster.stopControllers();
    await cluster.kubectl.ok("delete pod survivor --timeout=60s");
    await cluster.kubectl.ok("delete pvc survivor --wait=false");
    await cluster.startControllers();
    await cluster.untilGone("persistentvolumeclaims", "survivor");
    await cluster.untilGone("persistentvolumes", volumeName);
    expect(await readdir(directory)).toEqual([]);
  });
});
