import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { brokenImage, createBroken, useStatefulSetCluster } from "../support/cluster/stateful-set-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { describeEachKubectl } from "../support/kubectl/kubectl.ts";
import { installPackage } from "../support/programs/packed-package.ts";
import { toolPath } from "../support/programs/tools.ts";

const project = temporaryFolder();
const home = join(project, "home");
const cluster = useStatefulSetCluster();

beforeAll(async () => {
  await installPackage(project, { types: false });
  const { client, node, server } = cluster;
  await mkdir(join(home, ".kube"), { recursive: true });
  const config = parse(await readFile(server.kubeconfig, "utf8"));
  const [{ name: current, context }] = config.contexts;
  config.contexts.push({ name: "shop", context: { ...context, namespace: "shop" } });
  await writeFile(join(home, ".kube/config"), stringify({ ...config, "current-context": current }));
  await copyFile(join(home, ".kube/config"), join(project, "copy"));
  await client.create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  const container = { name: "c", image: brokenImage };
  const spec = { nodeName: node.name, containers: [container] };
  const metadata = { name: "till", namespace: "shop", labels: { app: "till" } };
  await client.create("pods", { apiVersion: "v1", kind: "Pod", metadata, spec });
  await node.run("plain", { containers: [container] });
  await createBroken(cluster, "db", {
    spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } },
  });
  await cluster.setImage("db", "web:2");
}, 300_000);

// The cluster's own clean-up deletes pods of the namespace default only.
afterAll(() => cluster.client.delete("pods", { namespace: "shop", name: "till" }));

describeEachKubectl((tool) => {
  async function kubectl(...args: readonly string[]) {
    const path = `${join(project, "node_modules/.bin")}:${process.env.PATH}`;
    const { KUBECONFIG: _, ...inherited } = process.env;
    const env = { ...inherited, PATH: path, HOME: home, KUBECACHEDIR: join(project, `cache-${tool}`) };
    return promisify(execFile)(toolPath(tool), [...args], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  }
  const completions = async (...args: readonly string[]) =>
    (await kubectl("__complete", ...args)).stdout.trim().split("\n");

  test("kubectl finds both plugins without a warning", async () => {
    const { code, stdout, stderr } = await kubectl("plugin", "list");
    expect(stdout).toContain("kubectl-why");
    expect(stdout).toContain("kubectl-kindling");
    expect(stderr).not.toMatch(/kubectl-(why|kindling).*(not executable|overshadowed)/s);
    expect(code).toBe(0);
  });

  test("kubectl why POD uses kubectl's kubeconfig, and -n, --context and --kubeconfig as kubectl does", async () => {
    const named = await kubectl("why", "plain");
    expect(named.stdout).toContain("InvalidImageName");
    for (const flags of [
      ["-n", "shop"],
      ["--context", "shop"],
      ["--kubeconfig", join(project, "copy"), "--namespace=shop"],
    ])
      expect((await kubectl("why", "till", ...flags)).stdout).toContain("InvalidImageName");
    const wrong = await kubectl("why", "till", "--context", "none");
    expect(wrong.stderr).toMatch(/^kubectl why: .*none/);
    expect(wrong.code).toBe(1);
  });

  test("kubectl why -A and -l list pods", async () => {
    const all = (await kubectl("why", "-A")).stdout;
    expect(all).toMatch(/shop\s+till/);
    expect(all).toMatch(/default\s+plain/);
    const selected = (await kubectl("why", "-A", "-l", "app=till")).stdout;
    expect(selected).toMatch(/shop\s+till/);
    expect(selected).not.toContain("plain");
  });

  test("--as makes the requests as another user", async () => {
    const denied = await kubectl("why", "plain", "--as", "jane");
    expect(denied.code).toBe(1);
    expect(denied.stderr).toMatch(/User "jane" cannot get/);
    const group = ["--as", "jane", "--as-group", "system:masters"];
    expect((await kubectl("why", "plain", ...group)).stdout).toContain("InvalidImageName");
    const alone = await kubectl("why", "plain", "--as-group", "system:masters");
    expect(alone.code).toBe(2);
    expect(alone.stderr).toContain("add --as");
  });

  test("kubectl kindling COMMAND runs the command, and help names it so", async () => {
    const recover = await kubectl("kindling", "recover", "statefulset/db", "--dry-run");
    expect(recover.stdout).toContain("Would evict pod db-2");
    expect(recover.code).toBe(0);
    const help = (await kubectl("kindling", "recover", "--help")).stdout;
    expect(help).toContain("Usage: kubectl kindling recover [options] [statefulset]");
    expect(help).toContain("  kubectl kindling recover statefulset/web --dry-run");
    const why = (await kubectl("why", "--help")).stdout;
    expect(why).toContain("Usage: kubectl why [options] [pod]");
    expect(why).toContain("  kubectl why -A -l app=web");
  });

  test("kubectl completes commands, options, and names from the cluster", async () => {
    expect(await completions("why", "pl")).toEqual(["plain", ":4"]);
    expect(await completions("why", "-n", "shop", "")).toEqual(["till", ":4"]);
    expect(await completions("why", "statefulset/")).toEqual(["statefulset/db", ":4"]);
    expect(await completions("why", "-n", "sh")).toEqual(["shop", ":4"]);
    expect(await completions("why", "--context", "sh")).toEqual(["shop", ":4"]);
    expect(await completions("kindling", "recover", "")).toEqual(["statefulset/db", ":4"]);
    expect(await completions("kindling", "recov")).toEqual([expect.stringMatching(/^recover\t/), ":4"]);
    expect(await completions("why", "--all")).toEqual([expect.stringMatching(/^--all-namespaces\t/), ":4"]);
    expect(await completions("why", "--kubeconfig", "")).toEqual([":0"]);
    // Without a cluster there is nothing to offer, and no error in the middle of the command line.
    expect(await completions("why", "--kubeconfig", "/none", "")).toEqual([":4"]);
  });
});
