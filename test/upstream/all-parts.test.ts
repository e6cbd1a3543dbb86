import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Container, Pod } from "../../src/api/meta/objects.ts";
import { busyboxImage, type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { createKubectl, type Kubectl } from "../support/kubectl/kubectl.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { shell, untilTold } from "../support/node/runtime-node.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import { hasTool } from "../support/programs/tools.ts";
import {
  startUpstreamServer,
  type UpstreamServer,
  upstreamProgram,
} from "../support/servers/upstream-server.ts";

const title = "under upstream's API server, each of our components alone";
const isThere = upstreamProgram !== undefined && hasTool("etcd") && hasTool("kubectl") && hasTool("busybox");

describe.runIf(isThere)(isThere ? title : `${title} [needs kube-apiserver on the PATH]`, () => {
  const folder = temporaryFolder();
  const running: KindlingRun[] = [];
  let upstream: UpstreamServer;
  let runtime: CriRuntime;
  let kubectl: Kubectl;
  let admin: string;
  let startKubelet: () => Promise<KindlingRun>;

  async function start(...args: string[]): Promise<KindlingRun> {
    const run = await runKindling(args);
    running.push(run);
    return run;
  }

  beforeAll(async () => {
    upstream = await startUpstreamServer(folder);
    runtime = await startCriRuntime({ driver: hasTool("runc") ? "oci" : "host" });
    admin = await upstream.accessOf("admin", "system:masters");
    kubectl = createKubectl(admin);
    // As installers of upstream do: kubelets ask what the server itself may.
    const role = ["--clusterrole=system:kubelet-api-admin", "--user=kube-apiserver-kubelet-client"];
    await kubectl.ok(["create", "clusterrolebinding", "kubelet-client", ...role]);
    const config = join(folder, "kubelet.json");
    const authentication = { x509: { clientCAFile: upstream.caFile } };
    const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
    await writeFile(config, JSON.stringify({ ...kind, port: 0, authentication }));
    const node = await upstream.accessOf("system:node:node-1", "system:nodes");
    startKubelet = () =>
      start(
        ...["kubelet", "--kubeconfig", node, "--node-name", "node-1", "--config", config],
        ...["--runtime-endpoint", runtime.endpoint, "--data-dir", join(folder, "kubelet")],
      );
    await startKubelet();
    await start("controller-manager", "--kubeconfig", admin);
    await start("scheduler", "--kubeconfig", await upstream.accessOf("system:kube-scheduler"));
  });
  afterAll(async () => {
    for (const { child } of running) child.kill("SIGTERM");
    await Promise.all(running.map(({ exit }) => exit));
    await runtime?.stop();
    await upstream?.stop();
  });

  const apply = (object: object) => kubectl.ok("apply -f -", { input: JSON.stringify(object) });
  const podOf = (name: string, container: Container) =>
    makePod(name, { ...userPod, terminationGracePeriodSeconds: 5, containers: [container] });
  const conditionOf = async (name: string, type: string) => {
    const pod: Pod = JSON.parse(await kubectl.ok(`get pod ${name} -o json`));
    return pod.status?.conditions?.find((condition) => condition.type === type);
  };

  test("a pod with a startup probe becomes Ready; logs and exec go through the server", async () => {
    const startupProbe = { exec: { command: ["cat", "/up"] }, periodSeconds: 1 };
    await expect.poll(async () => (await kubectl.run("get serviceaccount default")).code).toBe(0);
    await apply(podOf("web", shell(`echo hello; echo > /up; ${untilTold}`, { startupProbe })));
    await kubectl.ok("wait --for=condition=Ready pod/web --timeout=100s");
    expect(await conditionOf("web", "PodReadyToStartContainers")).toMatchObject({ status: "True" });
    expect(await kubectl.ok("logs web")).toBe("hello\n");
    expect(await kubectl.ok("exec web -- hostname")).toBe("web\n");
  });

  test("a missing config map sets FailingToStart, and creating it clears the condition", async () => {
    const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "later", key: "a" } } }];
    await apply(podOf("waits", shell(untilTold, { env })));
    await expect
      .poll(() => conditionOf("waits", "FailingToStart"))
      .toMatchObject({
        status: "True",
        reason: "CreateContainerConfigError",
        message: 'configmap "later" not found',
      });
    await kubectl.ok("create configmap later --from-literal=a=1");
    await kubectl.ok("wait --for=condition=Ready pod/waits --timeout=100s");
    expect(await conditionOf("waits", "FailingToStart")).not.toMatchObject({ status: "True" });
  });

  test("a killed kubelet adopts its running containers when it starts again", async () => {
    const before: Pod = JSON.parse(await kubectl.ok("get pod web -o json"));
    running.find(({ child }) => child.spawnargs.includes("kubelet"))?.child.kill("SIGKILL");
    const next = await startKubelet();
    await expect.poll(() => next.output.stdout).toContain("node node-1 is registered");
    const after: Pod = JSON.parse(await kubectl.ok("get pod web -o json"));
    expect(after.status?.containerStatuses?.[0]).toMatchObject({
      restartCount: 0,
      containerID: before.status?.containerStatuses?.[0]?.containerID,
    });
  });

  test.each(["StatefulSet", "Deployment"])(
    "a %s rolls out, says what holds it up, and is undone",
    async (kind) => {
      const name = kind.toLowerCase();
      const labels = { app: name };
      const containers = [shell(untilTold)];
      await apply({
        ...{ apiVersion: "apps/v1", kind, metadata: { name } },
        spec: {
          ...{ replicas: 2, selector: { matchLabels: labels } },
          ...(kind === "StatefulSet" && { serviceName: name }),
          template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 5, containers } },
        },
      });
      await kubectl.ok(`rollout status ${name}/${name} --timeout=100s`);
      await kubectl.ok(`set image ${name}/${name} c=Broken:1`);
      const pods = async () => await kubectl.ok(`get pods -l app=${name}`);
      await expect.poll(pods).toContain("InvalidImageName");
      if (kind === "StatefulSet") {
        await kubectl.ok(`wait ${name}/${name} --for=condition=Progressing=false --timeout=100s`);
        // Upstream's rule, which is why EnforcedRollingUpdate was proposed: the broken pod has to be deleted by hand.
        await kubectl.ok(`rollout undo ${name}/${name}`);
        await kubectl.ok(`delete pod ${name}-1`);
      } else await kubectl.ok(`rollout undo ${name}/${name}`);
      await kubectl.ok(`rollout status ${name}/${name} --timeout=100s`);
      expect(await pods()).not.toContain("InvalidImageName");
      await kubectl.ok(`delete ${name}/${name} --cascade=foreground --timeout=100s`);
      await expect.poll(async () => (await kubectl.ok(`get pods -l app=${name} -o name`)).trim()).toBe("");
    },
  );

  test("the monitor measures it, and why explains it", async () => {
    const monitor = await start(
      ...["monitor", "--kubeconfig", admin, "--listen", "127.0.0.1:0", "--data-dir", join(folder, "monitor")],
    );
    await expect.poll(() => monitor.output.stdout).toMatch(/^metrics: (\S+)$/m);
    const url = /^metrics: (\S+)$/m.exec(monitor.output.stdout)?.[1] ?? "";
    await apply(podOf("measured", { name: "c", image: busyboxImage, command: ["sh", "-c", untilTold] }));
    await expect
      .poll(async () => (await fetch(url)).text())
      .toMatch(/^kindling_pod_first_sandbox_seconds_count\{[^}]*owner_kind="Pod"[^}]*\} [1-9]/m);
    await apply(podOf("nowhere", { name: "c", image: "Not/Valid" }));
    await expect.poll(() => conditionOf("nowhere", "FailingToStart")).toMatchObject({ status: "True" });
    const why = await runKindling(["why", "nowhere", "--kubeconfig", admin]);
    await why.exit;
    expect(why.output.stdout).toContain("InvalidImageName");
    await kubectl.ok("delete pods --all --timeout=100s");
  });
});
