import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCluster } from "../../src/testing/start-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";
import { ownPort } from "../support/network/own-share.ts";
import { useSimulatedNode } from "../support/node/simulated-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

const parts = useSimulatedNode({ runtime: { imagesPresent: false }, config: { address: "0.0.0.0" } });
const folder = temporaryFolder();

async function why(...args: readonly string[]) {
  const run = await runKindling(["why", "--kubeconfig", parts.node.server.kubeconfig, ...args]);
  return { code: await run.exit, ...run.output };
}

test("for a missing config map prints the stage, the reason, that it is permanent, and the command that fixes it", async () => {
  const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "cm", key: "k" } } }];
  await parts.node.run("stuck", { containers: [{ name: "c", image: "web:1", env }] });
  await parts.node.untilEvent("stuck", /configmap "cm" not found/);
  const { code, stdout } = await why("stuck");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^default\/stuck {2}creating/);
  expect(stdout).toContain('CreateContainerConfigError: configmap "cm" not found');
  expect(stdout).toContain("This does not resolve without a change.");
  expect(stdout).toContain("kubectl create configmap cm");
  expect(stdout).toMatch(/volumes and sandbox +█/);
  // In a pipe there are no colours.
  expect(stdout).not.toContain("\x1b");
});

test("a pull under way: bytes and time left, from the kubelet", async () => {
  parts.simulated.rules.add({
    match: { image: "*big*" },
    pull: { sizeBytes: 500 * 2 ** 20, bytesPerSecond: 20 * 2 ** 20 },
  });
  await parts.node.run("pulling", { containers: [{ name: "c", image: "big:1" }] });
  await parts.node.untilEvent("pulling", /Pulling image "big:1"/);
  let said: { stage: string; because: string } | undefined;
  await expect
    .poll(async () => {
      said = JSON.parse((await why("pulling", "-o", "json")).stdout);
      return said?.because;
    })
    .toMatch(/big:1 is being pulled: \d+(\.\d)? of 500 MiB, about \d+ s left/);
  expect(said).toMatchObject({ stage: "pulling", healsByItself: true });
});

test("text of a pod cannot move the cursor", async () => {
  await parts.node.run("hostile", { containers: [{ name: "c", image: "Bad\u001b[2Jname" }] });
  await parts.node.untilEvent("hostile", /InvalidImageName/);
  const { stdout } = await why("hostile");
  expect(stdout).toContain("InvalidImageName");
  expect(stdout).not.toContain("\x1b");
});

test("a missing pod is reported with similar names", async () => {
  await parts.node.run("example-1", { containers: [{ name: "c", image: "web:1" }] });
  expect(await why("example")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "kindling: there is no pod example in the namespace default; did you mean example-1?\n",
  });
  expect(await why("example-1", "-n", "shop")).toMatchObject({
    code: 1,
    stderr:
      "kindling: there is no pod example-1 in the namespace shop, but there is one in default: add -n default\n",
  });
});

test("reports a cluster that does not run and a missing kubeconfig", async () => {
  const kubeconfig = join(folder, "kubeconfig");
  const none = await runKindling(["why", "web"], { env: { HOME: folder, KUBECONFIG: "" } });
  expect(await none.exit).toBe(1);
  expect(none.output.stderr).toMatch(
    /^kindling: kubeconfig \S+ does not exist; start a cluster with kindling up/,
  );
  const text = await readFile(parts.node.server.kubeconfig, "utf8");
  await writeFile(kubeconfig, text.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${await ownPort()}`));
  const away = await why("web", "--kubeconfig", kubeconfig);
  expect(away.code).toBe(1);
  expect(away.stderr).toMatch(/ECONNREFUSED.*; is the cluster running\? Start one with kindling up/);
});

test("a stuck StatefulSet is explained with the blocking pod and a fix", async () => {
  await using cluster = await startCluster();
  const set = (image: string) => makeStatefulSet("db", { replicas: 2, image });
  await cluster.client.apply([set("Bad:1:2")]);
  await cluster.client.waitFor("pods", "db-0", "FailingToStart");
  await cluster.client.apply([set("db:2")]);
  await cluster.client.waitFor(
    "statefulsets",
    "db",
    ({ status }) => status?.updateRevision !== status?.currentRevision,
  );
  const run = await runKindling(["why", "statefulset/db", "--kubeconfig", cluster.kubeconfig]);
  expect(await run.exit).toBe(0);
  expect(run.output.stdout).toMatch(/^statefulset default\/db {2}0 of 2 ready/);
  expect(run.output.stdout).toContain("EnforcedRollingUpdate");
  expect(run.output.stdout).toContain("default/db-0");
  expect(run.output.stdout).toContain("InvalidImageName");
});
