import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startCluster } from "../../src/testing/start-cluster.ts";
import type { TestCluster } from "../../src/testing/test-cluster.ts";
import { limitedKubeconfig } from "../support/cluster/limited-kubeconfig.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";
import { useSimulatedNode } from "../support/node/simulated-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

const parts = useSimulatedNode({ runtime: { imagesPresent: true }, config: { address: "0.0.0.0" } });
const folder = temporaryFolder();
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.close());

async function why(kubeconfig: string, ...args: readonly string[]) {
  const run = await runKindling(["why", "--kubeconfig", kubeconfig, ...args]);
  return { code: await run.exit, ...run.output };
}

const unwrapped = (text: string) => text.replaceAll(/\s+/g, " ");

test("a crash loop shows the last lines of the log without control characters", async () => {
  parts.simulated.rules.add({
    match: { image: "*crash*" },
    container: { exit: { code: 3 }, log: "starting\n\u001b[2Jno database\n" },
  });
  await parts.node.run("crash", { containers: [{ name: "c", image: "crash:1" }] });
  await parts.node.untilEvent("crash", /Back-off restarting/);
  const { stdout } = await why(parts.node.server.kubeconfig, "crash");
  expect(stdout).toContain("exited with code 3");
  expect(stdout).toMatch(/Last lines of the log of container c:\n {2}│ starting\n {2}│ \[2Jno database\n/);
  expect(stdout).not.toContain("\x1b");
});

test("a pull that stalls names the layer, how much of it had arrived, and what to check", async () => {
  parts.simulated.rules.add({
    match: { image: "*stall*" },
    pull: { sizeBytes: 50 * 2 ** 20, stallAtByte: 3 * 2 ** 20 },
  });
  const { stdout } = await (async () => {
    await parts.node.run("stall", {
      containers: [{ name: "c", image: "stall:1", imagePullPolicy: "Always" }],
    });
    await expect
      .poll(async () => (await why(parts.node.server.kubeconfig, "stall")).stdout, { timeout: 30_000 })
      .toContain("sent nothing");
    return why(parts.node.server.kubeconfig, "stall");
  })();
  expect(unwrapped(stdout)).toMatch(/after 3\.0 MiB of 50\.0 MiB of layer [0-9a-f]{12}/);
  expect(unwrapped(stdout)).toContain("check the registry and the network between it and node");
});

test("an unknown StorageClass is named, and each fix has its own command", async () => {
  await cluster.client.create("persistentvolumeclaims", {
    metadata: { name: "data", namespace: "default" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "fast",
      resources: { requests: { storage: "1Gi" } },
    },
  });
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  await cluster.client.create("pods", makePod("with-claim", { volumes }));
  await cluster.client.waitFor("pods", "with-claim", ({ status }) =>
    Boolean(status?.conditions?.some(({ type, status }) => type === "PodScheduled" && status === "False")),
  );
  const { stdout } = await why(cluster.kubeconfig, "with-claim");
  expect(unwrapped(stdout)).toContain('The claim "data" uses the StorageClass "fast", which does not exist.');
  expect(stdout).toContain("    kubectl get storageclasses");
  expect(await cluster.client.why("with-claim")).toMatchObject({ stage: "scheduling", isTransient: false });
});

test("a pod on a node that does not exist", async () => {
  await cluster.client.create("pods", makePod("lost", { nodeName: "nowhere" }));
  const { stdout } = await why(cluster.kubeconfig, "lost");
  expect(unwrapped(stdout)).toContain("The pod is bound to node nowhere, which does not exist.");
});

test("a finalizer is named, and the time counts from the request to delete the pod", async () => {
  const metadata = { name: "held", namespace: "default", finalizers: ["example.com/hold"] };
  await cluster.client.create("pods", makePod("held", { metadata, terminationGracePeriodSeconds: 30 }));
  await cluster.client.waitFor("pods", "held", "Ready");
  await cluster.client.delete("pods", "held");
  const { stdout } = await why(cluster.kubeconfig, "held");
  expect(stdout).toMatch(/^default\/held {2}terminating for \ds/);
  expect(unwrapped(stdout)).toContain("its finalizers block the deletion: example.com/hold");
  await cluster.client.patch("pods", "held", { metadata: { finalizers: null } }, { type: "merge" });
});

test("without the right to read events, nodes and logs it explains the pod and names what it could not read", async () => {
  const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "absent", key: "k" } } }];
  await cluster.client.create("pods", makePod("seen", { container: { env } }));
  await cluster.client.waitFor("pods", "seen", "FailingToStart");
  const kubeconfig = await limitedKubeconfig(cluster, join(folder, "limited"));
  const { code, stdout } = await why(kubeconfig, "seen");
  expect(code).toBe(0);
  expect(stdout).toContain('configmap "absent" not found');
  expect(unwrapped(stdout)).toContain("You are not allowed to read events and nodes;");
  // Only events contain the reason why a controller creates no pods.
  const set = makeStatefulSet("absent", { replicas: 1, pod: { serviceAccountName: "absent" } });
  await cluster.client.create("statefulsets", set);
  const workload = await why(kubeconfig, "statefulset/absent");
  expect(workload).toMatchObject({ code: 0, stderr: "" });
  expect(unwrapped(workload.stdout)).toContain("You are not allowed to read events;");
  const json = await why(kubeconfig, "statefulset/absent", "-o", "json");
  expect(JSON.parse(json.stdout)).toMatchObject({ kind: "StatefulSet", unreadable: ["events"] });
  const list = await why(kubeconfig);
  expect(list.stdout).toMatch(/default +seen +creating .*configmap "absent" not found/);
  expect(list.stdout).toContain(
    "You are not allowed to read events and nodes; causes may lack what they show.",
  );
});
