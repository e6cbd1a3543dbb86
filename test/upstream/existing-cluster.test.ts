import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isReady } from "../../src/api/meta/object-facts.ts";
import type { Container } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { findProgram } from "../../src/runtime/drivers/find-program.ts";
import { createTestControllers, startTestScheduler } from "../support/cluster/run-controllers.ts";
import { startContainerd } from "../support/cri/containerd.ts";
import { busyboxImage, writeBusyboxTree } from "../support/cri/cri-runtime.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { makePod } from "../support/manifests/pod.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";
import { ownPort } from "../support/network/own-share.ts";
import { installPackage } from "../support/programs/packed-package.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { hasTool, toolPath } from "../support/programs/tools.ts";
import { writeImageArchive } from "../support/registry/image-archive.ts";
import { startSlowRegistry } from "../support/registry/slow-registry.ts";
import { startTestServer } from "../support/servers/api-server.ts";
import { startUpstreamServer, upstreamProgram } from "../support/servers/upstream-server.ts";

const namespace = "default";
const manager = findProgram("kube-controller-manager");
const isUpstream = Boolean(upstreamProgram && manager && hasTool("etcd"));
const upstreamKubelet = isUpstream && hasTool("containerd-2") ? findProgram("kubelet") : undefined;
const rollingUpdate = { type: "RollingUpdate", rollingUpdate: { partition: 0 } };
const idle: Partial<Container> = {
  image: busyboxImage,
  command: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.2; done"],
};

/** Five commands of the document. */
async function readCommands(): Promise<readonly string[]> {
  const text = await readFile("docs/existing-cluster.md", "utf8");
  const [, block = ""] = /```console\n(.*?)```/s.exec(text) ?? [];
  return block.split("\n").flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []));
}

const missing = (["containerd", "kubectl", "busybox"] as const).filter((tool) => !hasTool(tool));
const programs = upstreamKubelet ? "upstream's programs and kubelet" : "upstream's programs";
const title = `docs/existing-cluster.md, on ${isUpstream ? programs : "Kindling's"}`;

describe.runIf(missing.length === 0)(
  missing.length === 0 ? title : `${title} [needs ${missing.join(", ")}]`,
  () => {
    const closing: (() => unknown)[] = [];
    let folder: string;
    let client: Client;
    let kubeconfig: string;
    let socket: string;
    let reference: string;

    /** Starts the control plane; returns the kubeconfigs of an administrator and of the node. */
    async function startControlPlane(): Promise<{ admin: string; node: string }> {
      if (!isUpstream) {
        const server = await startTestServer();
        closing.push(() => server.close());
        const controllers = createTestControllers(server.kubeconfig);
        closing.push(controllers.stopControllers);
        await controllers.startControllers();
        closing.push(await startTestScheduler(server.kubeconfig));
        return { admin: server.kubeconfig, node: server.kubeconfig };
      }
      const upstream = await startUpstreamServer(folder);
      closing.push(() => upstream.stop());
      const admin = await upstream.accessOf("admin", "system:masters");
      const run = (program: string, ...flags: readonly string[]) => {
        const common = ["--kubeconfig", admin, "--leader-elect=false"];
        const child = spawn(program, [...common, ...flags], { stdio: "ignore" });
        closing.push(() => end(child));
      };
      run(manager ?? "", "--secure-port=0");
      const scheduler = findProgram("kube-scheduler");
      if (scheduler) run(scheduler, "--secure-port=0");
      else closing.push(await startTestScheduler(admin));
      return { admin, node: await upstream.accessOf("system:node:worker-1", "system:nodes") };
    }

    /** Starts upstream's kubelet where it is on the PATH, else ours without the features. */
    async function startKubelet(kubeconfig: string, endpoint: string): Promise<void> {
      const config = join(folder, "kubelet.json");
      const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
      if (!upstreamKubelet) {
        const featureGates = { ImagePullProgress: false, PodFailingToStartCondition: false };
        await writeFile(config, JSON.stringify({ ...kind, port: 0, featureGates }));
        const kubelet = await runKindling([
          ...["kubelet", "--kubeconfig", kubeconfig, "--node-name", "worker-1", "--config", config],
          ...["--runtime-endpoint", endpoint, "--data-dir", join(folder, "kubelet")],
        ]);
        closing.push(async () => {
          kubelet.child.kill("SIGTERM");
          await kubelet.exit;
        });
        return;
      }
      const settings = {
        ...kind,
        containerRuntimeEndpoint: endpoint,
        port: await ownPort(),
        healthzPort: 0,
        authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
        authorization: { mode: "Webhook" },
        cgroupDriver: "cgroupfs",
        cgroupsPerQOS: false,
        enforceNodeAllocatable: [],
        failCgroupV1: false,
        failSwapOn: false,
        // The machine may lack CAP_SYS_RESOURCE, and its disk may be nearly full.
        oomScoreAdj: 0,
        evictionHard: { "memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%" },
        resolvConf: "",
      };
      await writeFile(config, JSON.stringify(settings));
      const options = {
        kubeconfig,
        config,
        "hostname-override": "worker-1",
        "node-ip": "127.0.0.1",
        "root-dir": join(folder, "kubelet"),
      };
      const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
      const log = await open(join(folder, "kubelet.log"), "w");
      const child = spawn(upstreamKubelet, args, { stdio: ["ignore", log.fd, log.fd] });
      closing.push(async () => {
        await end(child);
        await log.close();
        // The kubelet mounts its directory on itself.
        await promisify(execFile)("umount", ["--recursive", "--lazy", join(folder, "kubelet")]).catch(
          () => {},
        );
      });
    }

    async function end(child: ChildProcess): Promise<void> {
      if (child.exitCode !== null) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    }

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "kdl-"));
      closing.push(() => rm(folder, { recursive: true, force: true }));
      await installPackage(join(folder, "project"), { types: false });
      const { admin, node } = await startControlPlane();
      kubeconfig = admin;
      client = await connectCluster({ kubeconfig });
      closing.push(() => client.close());
      await writeBusyboxTree(join(folder, "busybox"));
      const archive = writeImageArchive({
        root: join(folder, "busybox"),
        tag: busyboxImage,
        command: ["sh"],
      });
      const containerd = await startContainerd({
        // Upstream's kubelet wants containerd 2.
        program: toolPath(upstreamKubelet ? "containerd-2" : "containerd"),
        folder: join(folder, "c"),
        archives: [archive],
      });
      closing.push(() => containerd.stop());
      socket = containerd.endpoint.replace("unix://", "");
      await startKubelet(node, containerd.endpoint);
      await vi.waitFor(() => client.get("serviceaccounts", { namespace, name: "default" }), {
        timeout: 60_000,
      });
      const registry = await startSlowRegistry({
        layerBytes: [8 * 2 ** 20, 8 * 2 ** 20],
        pieces: 100,
        pauseMs: 2_000,
      });
      closing.push(() => registry.stop());
      reference = registry.reference;
    });
    afterAll(async () => {
      for (const close of closing.reverse()) await close();
    });

    const listSet = async () =>
      (await client.list("pods", { namespace, labelSelector: "app=db" })).items.toSorted((a, b) =>
        (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""),
      );

    async function makeStuckSet(): Promise<void> {
      const make = (env: Container["env"] = []) =>
        makeStatefulSet("db", {
          replicas: 2,
          spec: { updateStrategy: rollingUpdate },
          pod: { container: { ...idle, env } },
        });
      const key = { namespace, name: "db" };
      await client.create("statefulsets", make());
      await expect.poll(async () => (await listSet()).filter(isReady).length).toBe(2);
      const missing = [{ name: "A", valueFrom: { configMapKeyRef: { name: "none", key: "a" } } }];
      const setTemplate = (env: Container["env"]) => {
        const value = make(env).spec?.template;
        const body = [{ op: "replace", path: "/spec/template", value }];
        return client.patch("statefulsets", key, { patch: { kind: "json", body } });
      };
      await setTemplate(missing);
      const waiting = async () =>
        (await listSet())[1]?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
      await expect.poll(waiting).toBe("CreateContainerConfigError");
      await setTemplate([]);
    }

    test("3541-13 3542-14 five commands resolve a stuck StatefulSet and show a slow pull", async () => {
      await makeStuckSet();
      const container = { name: "c", image: reference, command: ["/none"] };
      await client.create("pods", makePod("big", { nodeName: "worker-1", containers: [container] }));
      const commands = await readCommands();
      expect(commands).toHaveLength(5);
      const [install, explain = "", recover = "", agent = "", show = ""] = commands;
      // The packed package is installed where npm would put it.
      expect(install).toBe("npm install --global kindling");
      const path = [
        join(folder, "project/node_modules/.bin"),
        dirname(toolPath("kubectl")),
        process.env.PATH,
      ];
      const env = { ...process.env, KUBECONFIG: kubeconfig, PATH: path.join(":"), HOME: folder };
      const run = async (command: string) => {
        const child = spawn("bash", ["-c", command], { env, stdio: ["ignore", "pipe", "pipe"] });
        let output = "";
        for (const stream of [child.stdout, child.stderr])
          stream.on("data", (chunk) => {
            output += chunk;
          });
        const [code] = await once(child, "close");
        return { code, output };
      };

      expect((await run(explain)).output).toMatch(/db-1/);
      const recovered = await run(recover);
      expect(recovered.output).toContain("Recovered: 1 pod was evicted and replaced.");
      expect(recovered.code).toBe(0);
      await expect.poll(async () => (await listSet()).filter(isReady).length).toBe(2);

      const words = agent
        .replace(/ &$/, "")
        .replace("~/.kube/config", kubeconfig)
        .replace("/run/containerd/containerd.sock", socket)
        .split(" ");
      const running = spawn(words[0] ?? "", words.slice(1), { env, stdio: "ignore" });
      closing.push(() => end(running));
      const shown = async () => (await run(show)).output;
      await expect.poll(shown, { timeout: 120_000, interval: 5_000 }).toMatch(/\d(Mi)? of 16 ?Mi/);
    });

    test("3815-10 kindling conditions writes FailingToStart, and the kubelet keeps it", async () => {
      const conditions = await runKindling(["conditions", "--kubeconfig", kubeconfig]);
      closing.push(async () => {
        conditions.child.kill("SIGTERM");
        await conditions.exit;
      });
      const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "later", key: "a" } } }];
      const pod = makePod("unset", { nodeName: "worker-1", containers: [{ name: "c", ...idle, env }] });
      await client.create("pods", pod);
      const state = async () => {
        const { status } = await client.get("pods", { namespace, name: "unset" });
        const found = status?.conditions?.find(({ type }) => type === "FailingToStart");
        return `${status?.phase} ${found?.status} ${found?.reason ?? ""}`.trim();
      };
      await expect.poll(state).toBe("Pending True CreateContainerConfigError");
      await client.create("configmaps", makeConfigMap("later", { data: { a: "1" } }));
      await expect.poll(state).toMatch(/^Running False/);
    });
  },
);
