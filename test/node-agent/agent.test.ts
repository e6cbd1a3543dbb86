import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { createEventRecorder } from "../../src/client/events/event-recorder.ts";
import { PullImageRequest } from "../../src/cri/generated/cri.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { type Containerd, startContainerd } from "../support/cri/containerd.ts";
import { type RecordingSocket, startRecordingSocket } from "../support/cri/recording-socket.ts";
import { makePod } from "../support/manifests/pod.ts";
import { type KindlingRun, runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool, toolPath } from "../support/programs/tools.ts";
import { startSlowRegistry } from "../support/registry/slow-registry.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const mib = 2 ** 20;
const namespace = "default";
const service = "/containerd.services.content.v1.Content";
const allowed = [`${service}/ListStatuses`, `${service}/List`, `${service}/Read`];

const readerAccess = `
kind: ServiceAccount
apiVersion: v1
metadata: { name: reader, namespace: kube-system }
---
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: { name: reader }
rules: [{ apiGroups: [""], resources: [nodes/proxy, nodes/metrics], verbs: [get] }]
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: { name: reader }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader }
subjects: [{ kind: ServiceAccount, name: reader, namespace: kube-system }]
`;

for (const tool of ["containerd", "containerd-2"] as const) {
  describeWithTool(tool, `kindling node-agent beside another kubelet, on ${tool}`, () => {
    let folder: string;
    let server: TestServer;
    let client: Client;
    let containerd: Containerd;
    let socket: RecordingSocket;
    let agent: KindlingRun;
    let port: number;
    let reader: string;
    const stop = new AbortController();
    let recording: Promise<void>;
    let recorder: ReturnType<typeof createEventRecorder>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "kdl-"));
      server = await startTestServer();
      client = await connectCluster({ kubeconfig: server.kubeconfig });
      containerd = await startContainerd({ program: toolPath(tool), folder: join(folder, "c") });
      socket = await startRecordingSocket({
        listen: join(folder, "recording.sock"),
        target: containerd.endpoint.replace("unix://", ""),
        allowed,
      });
      recorder = createEventRecorder({
        client,
        component: "kubelet",
        host: "node-1",
        clock: systemClock,
        logger: silentLogger,
      });
      recording = recorder.run(stop.signal);
      const kubeconfig = await agentKubeconfig();
      agent = await runKindling([
        ...["node-agent", "--kubeconfig", kubeconfig, "--node-name", "node-1", "--listen", "127.0.0.1:0"],
        ...["--containerd-socket", join(folder, "recording.sock"), "--progress-interval", "10"],
      ]);
      const isRunning = () => /on port \d+/.test(agent.output.stdout + agent.output.stderr);
      await vi.waitUntil(isRunning, { timeout: 60_000, interval: 50 });
      port = Number(/on port (\d+)/.exec(agent.output.stdout)?.[1]);
    });
    afterAll(async () => {
      agent?.child.kill("SIGTERM");
      await agent?.exit;
      stop.abort();
      await recording;
      await socket?.close();
      await containerd?.stop();
      client?.close();
      await server?.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** Kubeconfig with the rights of examples/node-agent/rbac.yaml, and the token of a user who may read progress. */
    async function agentKubeconfig(): Promise<string> {
      const rbac = "/apis/rbac.authorization.k8s.io/v1";
      const paths: Record<string, string> = {
        ServiceAccount: "/api/v1/namespaces/kube-system/serviceaccounts",
        ClusterRole: `${rbac}/clusterroles`,
        ClusterRoleBinding: `${rbac}/clusterrolebindings`,
      };
      const create = (body: { kind: string }) => client.request("POST", paths[body.kind] ?? "", { body });
      for (const document of parseAllDocuments(await readFile("examples/node-agent/rbac.yaml", "utf8")))
        await create(document.toJS());
      for (const document of parseAllDocuments(readerAccess)) await create(document.toJS());
      reader = await tokenOf("reader");
      const config = parse(await readFile(server.kubeconfig, "utf8"));
      config.users[0].user = { token: await tokenOf("kindling-node-agent") };
      const path = join(folder, "kubeconfig");
      await writeFile(path, stringify(config), { mode: 0o600 });
      return path;
    }

    async function tokenOf(account: string, spec: object = {}): Promise<string> {
      const path = `/api/v1/namespaces/kube-system/serviceaccounts/${account}/token`;
      const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
      const { status } = await client.request<{ status: { token: string } }>("POST", path, { body });
      return status.token;
    }

    function get(path: string, token?: string): Promise<{ code: number; body: string }> {
      return send(path, token === undefined ? {} : { authorization: `Bearer ${token}` });
    }

    function send(path: string, headers: Record<string, string>): Promise<{ code: number; body: string }> {
      return new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port, path, headers, rejectUnauthorized: false };
        request(options, (response) => {
          let body = "";
          response.on("data", (chunk) => {
            body += chunk;
          });
          response.on("end", () => resolve({ code: response.statusCode ?? 0, body }));
        })
          .on("error", reject)
          .end();
      });
    }

    const messages = async (name: string) => {
      const fieldSelector = `involvedObject.name=${name}`;
      const { items } = await client.list("events", { namespace, fieldSelector });
      return items
        .filter(({ source }) => source?.component === "kindling-node-agent")
        .map(({ type, reason, message }) => `${type} ${reason} ${message}`);
    };

    /** What another kubelet does: it records that it pulls, and calls PullImage. */
    async function pullAsKubelet(name: string, image: string, signal?: AbortSignal) {
      const pod = await client.create(
        "pods",
        makePod(name, { nodeName: "node-1", containers: [{ name: "c", image }] }),
      );
      const fieldPath = "spec.containers{c}";
      const message = `Pulling image "${image}"`;
      recorder.record(pod, { type: "Normal", reason: "Pulling", message, fieldPath });
      const pulling = containerd.client.images
        .pullImage(PullImageRequest.fromPartial({ image: { image } }), { timeoutMs: 300_000, signal })
        .finally(() => {
          recorder.record(pod, {
            type: "Normal",
            reason: "Pulled",
            message: "Successfully pulled",
            fieldPath,
          });
        });
      return pulling;
    }

    test("3542-14 events, endpoint and metrics show the progress, with only the rights of the example", async () => {
      const registry = await startSlowRegistry({
        layerBytes: [4 * mib, 6 * mib, 2 * mib, 3 * mib],
        pieces: 12,
        pauseMs: 1_300,
      });
      const size = registry.layers.reduce((sum, { bytes }) => sum + bytes.length, 0);
      const pulling = pullAsKubelet("slow", registry.reference);
      const read = async () => {
        const { code, body } = await get(`/imagePullProgress/${namespace}/slow`, reader);
        return code === 200 ? JSON.parse(body).pulls[0] : undefined;
      };
      await expect.poll(async () => (await read())?.offset, { interval: 200 }).toBeGreaterThanOrEqual(mib);
      const seen = await read();
      expect(seen).toMatchObject({ image: registry.reference, container: "c", total: size });
      expect(seen.layers.map(({ digest }: { digest: string }) => digest)).toEqual(
        registry.layers.map(({ digest }) => digest),
      );
      expect(seen.layers[0]).toMatchObject({ total: registry.layers[0]?.bytes.length });
      expect(seen.layers.map(({ stage }: { stage: string }) => stage)).toContain("downloading");

      expect((await get(`/imagePullProgress/${namespace}/slow`)).code).toBe(401);
      expect(
        (await get(`/imagePullProgress/${namespace}/slow`, await tokenOf("kindling-node-agent"))).code,
      ).toBe(403);
      const forAgents = await tokenOf("kindling-pull-reader", { audiences: ["kindling-node-agent"] });
      const path = `/imagePullProgress/${namespace}/slow`;
      expect((await send(path, { "kindling-node-agent-token": forAgents })).code).toBe(200);
      expect((await send("/metrics", { "kindling-node-agent-token": forAgents })).code).toBe(403);
      expect((await get(path, forAgents)).code).toBe(401);
      expect((await send(path, { "kindling-node-agent-token": reader })).code).toBe(401);
      expect((await get("/healthz")).body).toBe("ok");

      await expect
        .poll(() => messages("slow"))
        .toContainEqual(
          expect.stringMatching(
            new RegExp(
              `^Normal Pulling Pulling Container image ${registry.reference}: \\d+(\\.\\d)?Mi of 15Mi$`,
            ),
          ),
        );
      // This API server has no node object, so that its proxy does not reach the agent.
      const why = await runKindling(["why", "slow", "--kubeconfig", server.kubeconfig, "-o", "json"]);
      expect(await why.exit).toBe(0);
      expect(JSON.parse(why.output.stdout).pulls).toMatchObject([
        { image: registry.reference, container: "c", total: 15 * mib },
      ]);
      await pulling;
      await expect.poll(read).toBeUndefined();
      const metrics = (await get("/metrics", reader)).body;
      const received = /received_bytes_total\{registry="([^"]+)"\} (\d+)/.exec(metrics);
      expect(received?.[1]).toBe(registry.host);
      expect(Number(received?.[2])).toBeGreaterThan(size / 2);
      await registry.stop();
    });

    test("3542-14 only ListStatuses, List and Read are called, in the namespace k8s.io", () => {
      expect([...socket.calls.keys()].filter((path) => !allowed.includes(path))).toEqual([]);
      expect([...socket.calls.keys()].sort()).toEqual([...allowed].sort());
      expect(socket.lastHeaders()["containerd-namespace"]).toBe("k8s.io");
    });
  });
}
