import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  buildWebImages,
  useRealCluster,
  webDeployment,
  webImage,
  webStatefulSet,
} from "../support/cluster/real-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const apps = ["web", "db"];

describeWithTool("kubectl", "drain of a node of kindling up", () => {
  describeWithTool("busybox", "with real containers", () => {
    const folder = temporaryFolder();
    const cluster = useRealCluster(folder);
    const running: KindlingRun[] = [];

    async function start(says: RegExp, args: readonly string[]): Promise<void> {
      const run = await runKindling(args);
      running.push(run);
      await vi.waitFor(() => expect(run.output.stdout).toMatch(says), { timeout: 60_000 });
    }

    /** A second node beside that of `up`, in separate processes. */
    async function startSecondNode(): Promise<void> {
      const endpoint = `unix://${join(folder, "node-2.sock")}`;
      const runtimeDir = join(folder, "node-2/runtime");
      await start(/CRI at/, ["runtime", "--data-dir", runtimeDir, "--listen", endpoint]);
      await buildWebImages(runtimeDir, join(folder, "node-2"));
      const config = join(folder, "kubelet.yaml");
      const header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
      await writeFile(config, `${header}address: 127.0.0.1\nport: 0\n`);
      await start(/node node-2 is registered/, [
        ...[
          "kubelet",
          "--kubeconfig",
          cluster.kubeconfig,
          "--runtime-endpoint",
          endpoint,
          "--config",
          config,
        ],
        ...["--node-name", "node-2", "--data-dir", join(folder, "node-2/kubelet")],
      ]);
      await cluster.kubectl.ok("wait node/node-2 --for=condition=Ready --timeout=100s");
    }

    beforeAll(async () => {
      await cluster.apply(webDeployment("web", { replicas: 2 }));
      await cluster.apply(webStatefulSet("db", { replicas: 2 }));
      for (const app of apps) await cluster.apply(budgetOf(app));
      await cluster.apply(lonePod);
      for (const workload of ["deployment/web", "statefulset/db"])
        await cluster.kubectl.ok(`rollout status ${workload} --timeout=100s`);
      await cluster.kubectl.ok("wait pod/lone --for=condition=Ready --timeout=100s");
      await startSecondNode();
    });
    afterAll(async () => {
      await cluster.kubectl?.run("delete statefulsets,deployments --all --cascade=foreground --timeout=60s");
      for (const { child, exit } of running.reverse()) {
        child.kill("SIGTERM");
        await exit;
      }
    });

    test("a budget delays the second eviction of each workload until the first pod runs on another node", async () => {
      const { kubectl } = cluster;
      const drain = "drain node-1 --ignore-daemonsets";
      expect(await kubectl.fails(drain)).toMatch(/cannot delete Pods with local storage.*: default\/lone/);
      expect(await kubectl.fails(`${drain} --delete-emptydir-data`)).toMatch(
        /cannot delete Pods that declare no controller.*: default\/lone/,
      );

      const logs = await Promise.all(apps.map((app) => cluster.follow(app)));
      const { code, stdout, stderr } = await kubectl.run(
        `${drain} --delete-emptydir-data --force --timeout=100s`,
      );
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("node/node-1 drained") });
      for (const log of logs) await log.stop();
      for (const [i, app] of apps.entries()) {
        expect(stderr).toMatch(
          new RegExp(`error when evicting pods/"${app}-\\S+".*would violate the pod's disruption budget`),
        );
        expect(stdout).toMatch(new RegExp(`pod/${app}-\\S+ evicted`));
        // The second is evicted only when another pod is ready.
        const lines = logs[i]?.lines ?? [];
        const isReady = (line: string) => line.endsWith(" ready");
        const goings = lines.flatMap((line, at) => (line.endsWith(" terminating") ? [at] : []));
        expect(goings).toHaveLength(2);
        expect(lines.slice(goings[0], goings[1]).filter(isReady)).toHaveLength(1);
      }
      expect(await kubectl.run("get pod lone")).toMatchObject({ code: 1 });

      for (const workload of ["deployment/web", "statefulset/db"])
        await kubectl.ok(`rollout status ${workload} --timeout=100s`);
      const nodes = "jsonpath={.items[*].spec.nodeName}";
      // The status of a workload may be from before its last pod went.
      await expect.poll(() => kubectl.ok(`get pods -o ${nodes}`)).toBe("node-2 node-2 node-2 node-2");

      await kubectl.ok("uncordon node-1");
      await kubectl.ok("scale deployment/web --replicas=3");
      await expect.poll(() => kubectl.ok(`get pods -o ${nodes}`)).toContain("node-1");
    });
  });
});

const budgetOf = (app: string) => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: app, namespace: "default" },
  spec: { selector: { matchLabels: { app } }, minAvailable: 1 },
});

/** A pod without a controller, with data that are deleted with it. */
const lonePod = makePod("lone", {
  ...userPod,
  terminationGracePeriodSeconds: 30,
  volumes: [{ name: "data", emptyDir: {} }],
  container: { image: webImage(1), volumeMounts: [{ name: "data", mountPath: "/data" }] },
});
