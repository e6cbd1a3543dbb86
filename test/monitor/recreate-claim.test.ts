import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runRecreateClaim } from "../../examples/recreate-claim/recreate-claim.ts";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { PersistentVolume, StatefulSet, StorageClass } from "../../src/api/meta/objects.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const namespace = "default";
const folder = temporaryFolder();

/** A disk of a node, healthy or not: a directory that is there, or one that is not. */
function disk(name: string, size: string, path: string): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: size },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path, type: "Directory" },
      storageClassName: "disks",
    },
  };
}

/** A database of one replica with a claim template. */
function database(name: string, image: string): StatefulSet {
  const labels = { app: name, recreate: "yes" };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { namespace, name },
    spec: {
      serviceName: name,
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          automountServiceAccountToken: false,
          containers: [{ name: "c", image, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: {
            accessModes: ["ReadWriteOnce"],
            storageClassName: "disks",
            resources: { requests: { storage: "1Gi" } },
          },
        },
      ],
    },
  };
}

describe("KEP-3085 story 2: the example controller, on a real cluster with simulated containers", () => {
  const cluster = useCluster();
  const closing: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const close of closing) await close();
  });

  async function startExample(timeoutMs: number): Promise<() => Promise<void>> {
    const client = await connectCluster({ kubeconfig: cluster.server.kubeconfig });
    const stop = new AbortController();
    const common = { client, clock: systemClock, logger: silentLogger };
    const done = runRecreateClaim({ ...common, labelSelector: "recreate=yes", timeoutMs }, stop.signal);
    const end = async () => {
      stop.abort(new Error("the test stops the example"));
      await done;
      client.close();
    };
    closing.push(end);
    return end;
  }

  const pod = (name: string) => cluster.find("pods", name);
  const claim = (name: string) => cluster.find("persistentvolumeclaims", name);
  const sandboxOf = async (name: string) => {
    const found = await pod(name);
    return found && conditionOf(found, "PodReadyToStartContainers")?.status;
  };
  const readyOf = async (name: string) => {
    const found = await pod(name);
    return found && conditionOf(found, "Ready")?.status;
  };
  const volumeOf = async (name: string) => (await claim(name))?.spec?.volumeName;

  test("3085-14: a claim whose volume never mounts is recreated with its pod, and the pod starts", async () => {
    const { client } = cluster;
    const good = join(folder, "good");
    mkdirSync(good);
    await client.create("storageclasses", {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "disks" },
      provisioner: "kubernetes.io/no-provisioner",
    } as StorageClass);
    // The smaller one fits better and is taken first.
    await client.create("persistentvolumes", disk("broken", "1Gi", join(folder, "not-there")));
    // More than one: a slow machine may make the example lose its patience again.
    for (const i of [1, 2, 3, 4]) await client.create("persistentvolumes", disk(`whole-${i}`, "2Gi", good));
    await client.create("statefulsets", database("db", "db:1"));
    await expect.poll(() => volumeOf("data-db-0")).toBe("broken");
    await expect.poll(() => sandboxOf("db-0")).toBe("False");
    const before = {
      pod: (await pod("db-0"))?.metadata.uid,
      claim: (await claim("data-db-0"))?.metadata.uid,
    };

    const end = await startExample(3_000);
    await expect.poll(() => readyOf("db-0"), { timeout: 60_000 }).toBe("True");
    expect(await volumeOf("data-db-0")).toMatch(/^whole-/);
    expect((await claim("data-db-0"))?.metadata.uid).not.toBe(before.claim);
    expect((await pod("db-0"))?.metadata.uid).not.toBe(before.pod);
    await end();
  });

  test("3085-14: a pod whose sandbox was ready is recreated alone: its claim and data stay", async () => {
    const { client, simulated } = cluster;
    mkdirSync(join(folder, "other"));
    await client.create("persistentvolumes", disk("other", "3Gi", join(folder, "other")));
    // The container never gets up, in a sandbox that does.
    const rule = simulated.rules.add({
      match: { image: "*app:1" },
      container: { startError: "no such file" },
    });
    await client.create("statefulsets", database("app", "app:1"));
    await expect.poll(() => sandboxOf("app-0")).toBe("True");
    const before = {
      pod: (await pod("app-0"))?.metadata.uid,
      claim: (await claim("data-app-0"))?.metadata.uid,
    };

    await startExample(8_000);
    await expect
      .poll(async () => (await pod("app-0"))?.metadata.uid ?? before.pod, { timeout: 60_000 })
      .not.toBe(before.pod);
    simulated.rules.remove(rule);
    await expect.poll(() => readyOf("app-0"), { timeout: 60_000 }).toBe("True");
    const after = await claim("data-app-0");
    expect(after?.metadata.uid).toBe(before.claim);
    expect(after?.metadata.deletionTimestamp).toBeUndefined();
  });

  test("3085-14: a pod that has started is not changed later", async () => {
    await expect
      .poll(async () => (await pod("app-0"))?.metadata.annotations?.["recreate-claim.example/reached"])
      .toBe("ready");
    const before = (await pod("app-0"))?.metadata.uid;
    const lost = () => cluster.simulated.killSandbox(before ?? "");
    const restarts = async () => (await pod("app-0"))?.status?.containerStatuses?.[0]?.restartCount;
    lost();
    await expect.poll(restarts, { timeout: 60_000 }).toBe(1);
    await expect.poll(() => readyOf("app-0"), { timeout: 60_000 }).toBe("True");
    expect((await pod("app-0"))?.metadata.uid).toBe(before);
  });
});
