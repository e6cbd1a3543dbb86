import { afterAll, beforeAll, expect, test } from "vitest";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { describeWithTool } from "../support/programs/tools.ts";

describeWithTool("kubectl", "the controllers of kindling up", () => {
  const folder = temporaryFolder();
  let up: UpProcess;
  beforeAll(async () => {
    up = await startUp(["--data-dir", folder, "--store", "memory", "--runtime", "simulated"]);
  });
  afterAll(() => up?.kill("SIGTERM"));

  test("act with only the permissions of their own accounts", async () => {
    const { kubectl } = up;
    const role = "system:controller:replicaset-controller";
    const { rules } = JSON.parse(await kubectl.ok(`get clusterrole ${role} -o json`));
    const setRules = (next: unknown) =>
      kubectl.ok(["patch", "clusterrole", role, "--type=merge", "-p", JSON.stringify({ rules: next })]);
    await setRules(rules.filter(({ resources }: { resources: string[] }) => !resources.includes("pods")));
    await kubectl.ok("create deployment web --image=web:1");
    const failure = 'jsonpath={.status.conditions[?(@.type=="ReplicaFailure")].message}';
    await expect
      .poll(() => kubectl.ok(["get", "deployment", "web", "-o", failure]))
      .toContain(
        'User "system:serviceaccount:kube-system:replicaset-controller" cannot create resource "pods"',
      );
    await setRules(rules);
    await kubectl.ok("rollout status deployment/web --timeout=60s");
  });

  test("create the first StorageClass of a cluster", async () => {
    await expect.poll(() => up.kubectl.ok("get storageclass -o name")).toContain("/standard");
  });
});
