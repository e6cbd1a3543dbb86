import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCluster } from "../../src/testing/start-cluster.ts";
import { ownPort } from "../support/own-share.ts";
import { runKindling } from "../support/run-kindling.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { useWhyNode } from "../support/why-node.ts";

const parts = useWhyNode();
const folder = temporaryFolder();

async function why(...args: readonly string[]) {
  const run = await runKindling(["why", "--kubeconfig", parts.node.server.kubeconfig, ...args]);
  return { code: await run.exit, ...run.output };
}

test("a pod with a missing config map: the stage, the reason, that it does not heal, and the command that helps", async () => {
  const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "cm", key: "k" } } }];
  await parts.node.run("stuck", { containers: [{ name: "c", image: "web:1", env }] });
  await parts.node.untilEvent("stuck", /configmap "cm" not found/);
  const { code, stdout } = await why("stuck");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^default\/stuck {2}creating/);
  expect(stdout).toContain('CreateContainerConfigError: configmap "cm" not found');
  expect(stdout).toContain("It does not heal by itself.");
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

test("words of a pod never move the cursor", async () => {
  await parts.node.run("hostile", { containers: [{ name: "c", image: "Bad\u001b[2Jname" }] });
  await parts.node.untilEvent("hostile", /InvalidImageName/);
  const { stdout } = await why("hostile");
  expect(stdout).toContain("InvalidImageName");
  expect(stdout).not.toContain("\x1b");
});

test("a pod that is not there, with what may have been meant", async () => {
  await parts.node.run("somebody-1", { containers: [{ name: "c", image: "web:1" }] });
  expect(await why("somebody")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "kindling: there is no pod somebody in the namespace default; did you mean somebody-1?\n",
  });
  expect(await why("somebody-1", "-n", "shop")).toMatchObject({
    code: 1,
    stderr: "kindling: there is no pod somebody-1 in the namespace shop, but in default: add -n default\n",
  });
});

test("a cluster that does not run, a kubeconfig that is not there", async () => {
  const kubeconfig = join(folder, "kubeconfig");
  const none = await runKindling(["why", "web"], { env: { HOME: folder, KUBECONFIG: "" } });
  expect(await none.exit).toBe(1);
  expect(none.output.stderr).toMatch(/^kindling: kubeconfig \S+ does not exist; kindling up makes one/);
  const text = await readFile(parts.node.server.kubeconfig, "utf8");
  await writeFile(kubeconfig, text.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${await ownPort()}`));
  const away = await why("web", "--kubeconfig", kubeconfig);
  expect(away.code).toBe(1);
  expect(away.stderr).toMatch(/ECONNREFUSED.*; is the cluster running\? kindling up starts Kindling's own/);
});

test("a StatefulSet that is stuck: the pod that holds it up, and what would help", async () => {
  await using cluster = await startCluster();
  const template = (image: string) => ({
    metadata: { labels: { app: "db" } },
    spec: { containers: [{ name: "db", image }] },
  });
  const set = (image: string) => ({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db" },
    spec: {
      serviceName: "db",
      replicas: 2,
      selector: { matchLabels: { app: "db" } },
      template: template(image),
    },
  });
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
