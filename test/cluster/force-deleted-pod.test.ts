import { mkdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFailed, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { startUp } from "../support/cluster/up-process.ts";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import { buildBusybox } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { shell } from "../support/node/runtime-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

/** Holds a lock while it runs, and for a second after SIGTERM. A second holder leaves a trace. */
const script = `
  mkdir /shared/lock || touch /shared/overlap
  trap 'sleep 1; rmdir /shared/lock; exit 0' TERM
  touch /shared/started-$(cat /proc/sys/kernel/random/uuid)
  while :; do sleep 0.05; done`;

const identity = (shared: string): Pod =>
  makePod("web-0", {
    ...userPod,
    terminationGracePeriodSeconds: 20,
    volumes: [{ name: "shared", hostPath: { path: shared } }],
    container: {
      ...shell(script),
      imagePullPolicy: "IfNotPresent",
      volumeMounts: [{ name: "shared", mountPath: "/shared" }],
    },
  });

/** Force-deletes the pod and creates the next one, as a StatefulSet controller does. */
async function replace(client: Client, shared: string): Promise<void> {
  await client.delete("pods", { namespace: "default", name: "web-0" }, { gracePeriodSeconds: 0 });
  await client.create("pods", identity(shared));
}

describeWithTool("busybox", "a pod that was force-deleted", () => {
  describeEachDriver((driver) => {
    const folder = temporaryFolder();

    test("3541-8: ends before the next pod of its name starts, also when kindling is killed in between", {
      timeout: 120_000,
    }, async () => {
      const dataDir = join(folder, "data");
      const shared = join(folder, "shared");
      mkdirSync(shared);
      const args = ["--data-dir", dataDir, "--runtime", driver];
      const reset = async () => (await runKindling(["reset", "--yes", "--data-dir", dataDir])).exit;
      onTestFailed(async () => void (await reset()));
      const started = async () =>
        (await readdir(shared)).filter((name) => name.startsWith("started-")).length;
      const untilStarted = (count: number) => expect.poll(started, { timeout: 30_000 }).toBe(count);

      const first = await startUp(args);
      await buildBusybox({ dataDir: join(dataDir, "nodes/node-1/runtime"), directory: folder });
      const before = await connectCluster({ kubeconfig: first.kubeconfig });
      await before.create("pods", identity(shared));
      await untilStarted(1);
      await replace(before, shared);
      await untilStarted(2);
      expect(await readdir(shared)).not.toContain("overlap");

      await replace(before, shared);
      await first.kill("SIGKILL");
      before.close();
      const second = await startUp(args);
      await untilStarted(3);
      expect(await readdir(shared)).not.toContain("overlap");
      expect(await reset()).toBe(0);
      await second.exit;
    });
  });
});
