import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { conditionOf, isReady } from "../../src/api/meta/object-facts.ts";
import type { Pod, StatefulSet } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { findProgram } from "../../src/runtime/drivers/find-program.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { type Breakage, breakages, stalledPull } from "../support/cluster/breakages.ts";
import { writeExampleKubeconfig } from "../support/cluster/example-access.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import { hasTool } from "../support/programs/tools.ts";
import {
  startUpstreamServer,
  type UpstreamServer,
  upstreamProgram,
} from "../support/servers/upstream-server.ts";

const manager = findProgram("kube-controller-manager");
const isThere = upstreamProgram && manager && hasTool("etcd") && hasTool("kubectl");
const title = "with upstream's API server and controllers";
const namespace = "default";
const gate = "MaxUnavailableStatefulSet";
type Spec = Partial<NonNullable<StatefulSet["spec"]>>;
const rollingUpdate: Spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } };

describe.runIf(isThere)(
  isThere ? title : `${title} [needs kube-apiserver and kube-controller-manager on the PATH]`,
  () => {
    const folder = temporaryFolder();
    const running: KindlingRun[] = [];
    const times = { timeout: 60_000, interval: 200 };
    let upstream: UpstreamServer;
    let runtime: SimulatedRuntime;
    let client: Client;
    let admin: string;
    let controllers: ChildProcess;

    async function startControllers(...flags: readonly string[]): Promise<void> {
      const common = ["--kubeconfig", admin, "--leader-elect=false", "--secure-port=0"];
      controllers = spawn(manager ?? "", [...common, ...flags], { stdio: "ignore" });
    }
    async function stopControllers(): Promise<void> {
      controllers.kill("SIGKILL");
      await once(controllers, "exit");
    }

    beforeAll(async () => {
      upstream = await startUpstreamServer(folder, { "feature-gates": `${gate}=true` });
      const listen = `unix://${join(folder, "cri.sock")}`;
      runtime = await startSimulatedRuntime({ imagesPresent: true, logger: silentLogger, listen });
      runtime.rules.add(stalledPull);
      admin = await upstream.accessOf("admin", "system:masters");
      client = await connectCluster({ kubeconfig: admin });
      const config = join(folder, "kubelet.json");
      const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
      const featureGates = { PodFailingToStartCondition: false };
      await writeFile(config, JSON.stringify({ ...kind, port: 0, noProgressTimeout: 2, featureGates }));
      const node = await upstream.accessOf("system:node:node-1", "system:nodes");
      running.push(
        await runKindling([
          ...["kubelet", "--kubeconfig", node, "--node-name", "node-1", "--config", config],
          ...["--runtime-endpoint", listen, "--data-dir", join(folder, "kubelet")],
        ]),
        await runKindling(["scheduler", "--kubeconfig", await upstream.accessOf("system:kube-scheduler")]),
      );
      await startControllers();
      const find = () => client.get("serviceaccounts", { namespace, name: "default" });
      await vi.waitFor(find, times);
    });
    afterAll(async () => {
      for (const { child } of running) child.kill("SIGTERM");
      await Promise.all(running.map(({ exit }) => exit));
      await stopControllers();
      client?.close();
      await runtime?.close();
      await upstream?.stop();
    });

    const podsOf = async (app: string): Promise<readonly Pod[]> =>
      (await client.list("pods", { namespace, labelSelector: `app=${app}` })).items.toSorted((a, b) =>
        (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""),
      );
    const untilReady = (name: string, count: number) =>
      expect.poll(async () => (await podsOf(name)).filter(isReady).length, times).toBe(count);
    const uidsOf = async (name: string) => (await podsOf(name)).map(({ metadata }) => metadata.uid);
    const revisionsOf = async (name: string) =>
      (await podsOf(name)).map(({ metadata }) => metadata.labels?.["controller-revision-hash"]);
    const readSet = (name: string) => client.get("statefulsets", { namespace, name });

    /** Creates a set, breaks its last pod by a bad template, and fixes the template. */
    async function makeStuck(name: string, breakage: Breakage, spec: Spec, replicas = 2): Promise<void> {
      const annotations = { "kindling.dev/progress-deadline-seconds": "3" };
      await client.create("statefulsets", makeStatefulSet(name, { replicas, annotations, spec }));
      await untilReady(name, replicas);
      const good = (await readSet(name)).spec?.template;
      const template = { metadata: { annotations: breakage.annotations }, spec: breakage.spec };
      const [first] = await revisionsOf(name);
      const key = { namespace, name };
      await client.patch("statefulsets", key, { patch: { kind: "strategic", body: { spec: { template } } } });
      const isBroken = async () => (await revisionsOf(name)).some((revision) => revision !== first);
      await expect.poll(isBroken, times).toBe(true);
      await delay(2_000);
      const body = [{ op: "replace", path: "/spec/template", value: good }];
      await client.patch("statefulsets", key, { patch: { kind: "json", body } });
    }

    async function recover(name: string, ...flags: string[]) {
      const args = ["recover", `statefulset/${name}`, "--kubeconfig", admin, ...flags];
      const run = await runKindling(args);
      return { code: await run.exit, output: run.output.stdout };
    }

    /** Whether upstream's controller leaves the pods alone for ten seconds. */
    async function staysStuck(name: string): Promise<boolean> {
      const before = await uidsOf(name);
      await delay(10_000);
      return (await uidsOf(name)).join() === before.join();
    }

    test("3541-13 nine kinds of breakage stay stuck, and kindling recover resolves each", async () => {
      await Promise.all(breakages.map(([, name, breakage]) => makeStuck(name, breakage, rollingUpdate)));
      const names = breakages.map(([, name]) => name);
      const stuck = await Promise.all(names.map(staysStuck));
      expect(names.filter((_, i) => !stuck[i])).toEqual([]);
      await Promise.all(
        names.map(async (name) => {
          const [healthy] = await uidsOf(name);
          const { code, output } = await recover(name);
          expect({ name, code, output }).toEqual({
            name,
            code: 0,
            output: expect.stringContaining("Recovered: 1 pod was evicted and replaced."),
          });
          await untilReady(name, 2);
          expect((await uidsOf(name))[0]).toBe(healthy);
        }),
      );
    }, 900_000);

    const [, , missingMap = {}] = breakages.find(([, name]) => name === "missing-map") ?? [];

    test("3541-13 without rollingUpdate in the spec, recover evicts nothing and says what to do", async () => {
      const name = "no-partition";
      const key = { namespace, name };
      const spec: Spec = { updateStrategy: { type: "RollingUpdate" } };
      const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "none", key: "a" } } }];
      const good = makeStatefulSet(name, { replicas: 2, spec }).spec?.template;
      const bad = makeStatefulSet(name, { replicas: 2, spec, pod: { container: { env } } });
      await client.create("statefulsets", bad);
      const reason = async () =>
        (await podsOf(name))[0]?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
      await expect.poll(reason, times).toBeTruthy();
      await client.patch("statefulsets", key, {
        patch: { kind: "json", body: [{ op: "replace", path: "/spec/template", value: good }] },
      });
      expect(await staysStuck(name)).toBe(true);
      const before = await uidsOf(name);
      const { code, output } = await recover(name);
      expect(output).toContain("add rollingUpdate: {partition: 0}");
      expect(code).toBe(1);
      expect(await uidsOf(name)).toEqual(before);
      // The advice helps.
      await client.patch("statefulsets", key, { patch: { kind: "merge", body: { spec: rollingUpdate } } });
      expect((await recover(name)).output).toContain("Recovered: 1 pod was evicted");
      await untilReady(name, 2);
    }, 300_000);

    test("3815-10 kindling conditions writes the condition, with only the rights of its example", async () => {
      const kubeconfig = await writeExampleKubeconfig({
        admin: client,
        kubeconfig: admin,
        manifest: "examples/conditions/rbac.yaml",
        path: join(folder, "conditions"),
      });
      const run = await runKindling(["conditions", "--kubeconfig", kubeconfig]);
      running.push(run);
      const env = [{ name: "A", valueFrom: { configMapKeyRef: { name: "late", key: "a" } } }];
      await client.create(
        "statefulsets",
        makeStatefulSet("reported", { replicas: 1, pod: { container: { env } } }),
      );
      const condition = async () => {
        const [pod] = await podsOf("reported");
        return pod && conditionOf(pod, "FailingToStart");
      };
      await expect
        .poll(condition, times)
        .toMatchObject({ status: "True", message: 'configmap "late" not found' });
      const metadata = { name: "late", namespace };
      await client.create("configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "x" } });
      await expect.poll(condition, times).toMatchObject({ status: "False" });
      await untilReady("reported", 1);
    }, 300_000);

    describe(`with ${gate}`, () => {
      beforeAll(async () => {
        await stopControllers();
        await startControllers(`--feature-gates=${gate}=true`);
      });

      test.each<[string, Spec, number]>([
        ["parallel", { ...rollingUpdate, podManagementPolicy: "Parallel" }, 2],
        [
          "parallel-two",
          {
            podManagementPolicy: "Parallel",
            updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0, maxUnavailable: 2 } },
          },
          3,
        ],
        [
          "ordered-two",
          { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0, maxUnavailable: 2 } } },
          3,
        ],
      ])(
        "3541-13 a StatefulSet %s that stays stuck is recovered",
        async (name, spec, replicas) => {
          await makeStuck(name, missingMap, spec, replicas);
          expect(await staysStuck(name)).toBe(true);
          const { code, output } = await recover(name);
          expect(output).toContain("Recovered:");
          expect(code).toBe(0);
          await untilReady(name, replicas);
          const { updateRevision } = (await readSet(name)).status ?? {};
          const revisions = (await podsOf(name)).map(
            ({ metadata }) => metadata.labels?.["controller-revision-hash"],
          );
          expect(new Set(revisions)).toEqual(new Set([updateRevision]));
        },
        300_000,
      );
    });
  },
);
