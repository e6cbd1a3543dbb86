import { afterAll, beforeAll, expect, test } from "vitest";
import { startCluster } from "../../src/testing/start-cluster.ts";
import type { TestCluster } from "../../src/testing/test-cluster.ts";
import { makePod } from "../support/manifests/pod.ts";
import { makeDeployment, makeStatefulSet } from "../support/manifests/workload.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.close());

async function why(...args: readonly string[]) {
  const run = await runKindling(["why", "--kubeconfig", cluster.kubeconfig, ...args]);
  return { code: await run.exit, ...run.output };
}

const unwrapped = (text: string) => text.replaceAll(/\s+/g, " ");

async function breakAndCorrect(name: string, annotations?: Record<string, string>, type = "RollingUpdate") {
  const set = (image: string) =>
    makeStatefulSet(name, { replicas: 2, image, annotations, spec: { updateStrategy: { type } } });
  await cluster.client.apply([set("Bad:1:2")]);
  await cluster.client.waitFor("pods", `${name}-0`, "FailingToStart");
  await cluster.client.apply([set("db:2")]);
  await cluster.client.waitFor(
    "statefulsets",
    name,
    ({ status }) => status?.updateRevision !== status?.currentRevision,
  );
}

test("a stuck StatefulSet: only the old pod is in the way, and both ways to replace it work", async () => {
  await breakAndCorrect("db");
  const { stdout } = await why("statefulset.apps/db");
  const text = unwrapped(stdout);
  expect(text).toContain("RollingUpdate does not replace it. The template has changed since");
  expect(stdout).toContain("    kubectl delete pod db-0\n");
  // The template is correct already, so the pod's own fix would be wrong.
  expect(text).not.toContain("kubectl set image");
  // The proposed patch is accepted and resolves it.
  const [, body = ""] = /kubectl patch statefulset db -p '(.*)'/.exec(stdout) ?? [];
  await cluster.client.patch("statefulsets", "db", JSON.parse(body));
  await cluster.client.waitFor("statefulsets", "db", ({ status }) => status?.readyReplicas === 2);
  expect((await why("sts/db")).stdout).toMatch(/^statefulset default\/db {2}2 of 2 ready, 2 updated/);
});

test("an annotation that keeps the old pod is named", async () => {
  await breakAndCorrect("kept", { "kindling.dev/unstick": "never" }, "EnforcedRollingUpdate");
  const { stdout } = await why("statefulset/kept");
  expect(unwrapped(stdout)).toContain("the annotation kindling.dev/unstick: never keeps it.");
  expect(stdout).toContain("    kubectl annotate statefulset kept kindling.dev/unstick=always --overwrite\n");
});

test("with the gate off, EnforcedRollingUpdate is not proposed", async () => {
  await using gated = await startCluster({ features: { EnforcedRollingUpdateInStatefulSet: false } });
  const set = (image: string) => makeStatefulSet("db", { replicas: 1, image });
  await gated.client.apply([set("Bad:1:2")]);
  await gated.client.waitFor("pods", "db-0", "FailingToStart");
  await gated.client.apply([set("db:2")]);
  await gated.client.waitFor(
    "statefulsets",
    "db",
    ({ status }) => status?.updateRevision !== status?.currentRevision,
  );
  const run = await runKindling(["why", "statefulset/db", "--kubeconfig", gated.kubeconfig]);
  expect(await run.exit).toBe(0);
  expect(run.output.stdout).toContain("    kubectl delete pod db-0\n");
  expect(run.output.stdout).not.toContain("EnforcedRollingUpdate");
});

test("a Deployment and its ReplicaSet are explained with the pod that blocks them", async () => {
  await cluster.client.apply([makeDeployment("web", { replicas: 2, image: "Bad:1:2" })]);
  const pods = () => cluster.client.list("pods", { labelSelector: "app=web" });
  await expect.poll(async () => (await pods()).length).toBe(2);
  const [pod] = await pods();
  await cluster.client.waitFor("pods", pod?.metadata.name ?? "", "FailingToStart");
  const { stdout } = await why("deployment/web");
  expect(stdout).toMatch(/^deployment default\/web {2}0 of 2 ready, 2 updated {2}RollingUpdate/);
  expect(unwrapped(stdout)).toMatch(/The rollout waits for pod web-\S+; 0 of 2 pods are ready\./);
  expect(stdout).toContain("InvalidImageName");
  expect(stdout).toContain("    kubectl set image deployment/web c=IMAGE");
  const [owner] = pod?.metadata.ownerReferences ?? [];
  const { stdout: ofSet } = await why(`replicasets.apps/${owner?.name}`);
  expect(ofSet).toMatch(/^replicaset default\/web-\S+ {2}0 of 2 ready/);
  expect(await why("web")).toMatchObject({
    code: 1,
    stderr:
      "kindling: there is no pod web in the namespace default, but there is a Deployment: use deployment/web\n",
  });
});

test("without a name it lists pods that are not ready, by namespace and label", async () => {
  await cluster.client.create("namespaces", { metadata: { name: "shop" } });
  const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "cm", key: "k" } } }];
  const metadata = { name: "cart", namespace: "shop", labels: { app: "cart" } };
  await cluster.client.create("pods", makePod("cart", { metadata, container: { env } }));
  await cluster.client.create("pods", makePod("fine", { metadata: { name: "fine", namespace: "shop" } }));
  await cluster.client.waitFor("pods", { namespace: "shop", name: "cart" }, "FailingToStart");
  await cluster.client.waitFor("pods", { namespace: "shop", name: "fine" }, "Ready");
  const { code, stdout } = await why("-n", "shop");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^NAMESPACE +POD +STAGE +SINCE +CAUSE\nshop +cart +creating +\d+s +Container \S+ is waiting: CreateContainerConfigError: configmap "cm" not found\.\n$/,
  );
  const all = await why("-A", "-o", "json");
  const { pods } = JSON.parse(all.stdout);
  const names = pods.map(
    ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`,
  );
  expect(names).toContain("shop/cart");
  expect(names).toContain("default/kept-0");
  expect(names).not.toContain("shop/fine");
  expect((await why("-A", "-l", "app=cart")).stdout.trim().split("\n")).toHaveLength(2);
  expect((await why("-A", "-l", "app=none")).stdout).toBe(
    "There are no pods in all namespaces with the labels app=none.\n",
  );
  expect(await why("cart", "-A")).toMatchObject({ code: 2 });
});
