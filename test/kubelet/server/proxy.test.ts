import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKubectl, type Kubectl } from "../../support/kubectl/kubectl.ts";
import { fetchText } from "../../support/kubectl/port-forward.ts";
import { type KubeletBench, startKubeletBench } from "../../support/node/kubelet-pod.ts";
import { describeWithTool, toolPath } from "../../support/programs/tools.ts";

const prefix = "/api/v1/namespaces/default";

/** kubectl, through the API server, to a server in a pod of our runtime. */
describeWithTool("busybox", "pods/proxy and services/proxy", () =>
  describeWithTool("kubectl", "with kubectl", suite),
);

function suite(): void {
  let bench: KubeletBench;
  let kubectl: Kubectl;
  let proxy: ChildProcess;
  let proxyPort: number;
  beforeAll(async () => {
    bench = await startKubeletBench();
    kubectl = createKubectl(bench.kubelet.api.kubeconfig);
    const page = '<a href="/next">next</a>';
    const command = `mkdir -p /www/sub; printf '${page}' >/www/index.html; exec httpd -f -p 8080 -h /www`;
    const { pod } = await bench.makePod("web", { web: { command: ["sh", "-c", command] } });
    await publishAddress(pod.metadata.uid ?? "");
    ({ proxy, proxyPort } = await startKubectlProxy(bench.kubelet.api.kubeconfig));
  });
  afterAll(async () => {
    proxy?.kill("SIGKILL");
    await bench?.close();
  });

  /** Writes what a kubelet and the endpoints controller would: the pod's address, a service and its endpoints. */
  async function publishAddress(uid: string): Promise<void> {
    const { api } = bench.kubelet;
    const { runtime } = bench.runtime.client;
    const [sandbox] = (await runtime.listPodSandbox({ filter: undefined })).items;
    const { status } = await runtime.podSandboxStatus({ podSandboxId: sandbox?.id ?? "", verbose: false });
    const ip = status?.network?.ip ?? "";
    const body = { status: { podIP: ip, podIPs: [{ ip }] } };
    const headers = { "content-type": "application/merge-patch+json" };
    await api.call("PATCH", `${prefix}/pods/web/status`, { body, headers });
    await api.json("POST", `${prefix}/services`, {
      metadata: { name: "web" },
      spec: { ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    });
    const targetRef = { kind: "Pod", namespace: "default", name: "web", uid };
    await api.json("POST", `${prefix}/endpoints`, {
      metadata: { name: "web" },
      subsets: [{ addresses: [{ ip, targetRef }], ports: [{ name: "http", port: 8080 }] }],
    });
    await api.json("POST", `${prefix}/services`, {
      metadata: { name: "other" },
      spec: { ports: [{ name: "http", port: 80 }] },
    });
    await api.json("POST", `${prefix}/endpoints`, {
      metadata: { name: "other" },
      subsets: [{ addresses: [{ ip: "10.255.255.1", targetRef }], ports: [{ name: "http", port: 8080 }] }],
    });
  }

  test.each([
    "pods/web:8080",
    "pods/http:web:8080",
    "services/web:80",
    "services/web:http",
    "services/http:web:http",
  ])("kubectl get --raw through %s", async (target) => {
    const path = `${prefix}/${target}/proxy`;
    await expect.poll(() => kubectl.ok(`get --raw ${path}/`)).toBe(`<a href="${path}/next">next</a>`);
  });

  test("kubectl proxy, with a redirect of the backend", async () => {
    const path = `${prefix}/services/web:http/proxy`;
    expect(await fetchText(proxyPort, `${path}/`)).toBe(`<a href="${path}/next">next</a>`);
    const response = await fetch(`http://127.0.0.1:${proxyPort}${path}/sub`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, `${path}/sub/`]);
  });

  test.each([
    ["a service port that does not exist", "services/web:81", 'no service port 81 found for service "web"'],
    ["an unknown port name", "services/web:x", 'no endpoints available for service "web:x"'],
    [
      "an address that is not the pod's",
      "services/other:http",
      'no endpoints available for service "other:http"',
    ],
    ["an invalid name", "pods/ftp:web:80", 'invalid pod request "ftp:web:80"'],
    ["a port without a server", "pods/web:81", "connection refused"],
  ])("%s", async (_, target, message) => {
    const { stderr } = await kubectl.run(["get", "--raw", `${prefix}/${target}/proxy/`]);
    expect(stderr).toContain(message);
  });

  test("each method needs its verb on the subresource", async () => {
    const rule = ["create", "clusterrole", "reader", "--verb=get", "--resource=pods/proxy"];
    expect((await kubectl.run(rule)).code).toBe(0);
    const binding = ["create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=jane"];
    expect((await kubectl.run(binding)).code).toBe(0);
    const path = `${prefix}/pods/web:8080/proxy/`;
    const as = (method: string, url: string) =>
      bench.kubelet.api.call(method, url, { headers: { "impersonate-user": "jane" } });
    await expect.poll(async () => (await as("GET", path)).status).toBe(200);
    expect((await as("HEAD", path)).status).toBe(200);
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
      expect([method, (await as(method, path)).status]).toEqual([method, 403]);
    expect((await as("GET", `${prefix}/services/web:80/proxy/`)).status).toBe(403);
  });

  test("an upgrade through nodes/proxy needs more than the right to read it", async () => {
    const rule = ["create", "clusterrole", "node-reader", "--verb=get", "--resource=nodes/proxy"];
    expect((await kubectl.run(rule)).code).toBe(0);
    const binding = [
      "create",
      "clusterrolebinding",
      "node-reader",
      "--clusterrole=node-reader",
      "--user=joe",
    ];
    expect((await kubectl.run(binding)).code).toBe(0);
    const headers = { "impersonate-user": "joe" };
    const { api } = bench.kubelet;
    const read = () => api.call("GET", "/api/v1/nodes/n1/proxy/healthz", { headers });
    await expect.poll(async () => (await read()).status).toBe(200);
    const path = "/api/v1/nodes/n1/proxy/exec/default/web/web?command=id&output=1";
    const upgrade = { connection: "upgrade", upgrade: "websocket" };
    const answer = await api.call("GET", path, { headers: { ...headers, ...upgrade } });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('cannot create resource \\"nodes/proxy\\"');
  });
}

async function startKubectlProxy(kubeconfig: string): Promise<{ proxy: ChildProcess; proxyPort: number }> {
  const proxy = spawn(toolPath("kubectl"), ["--kubeconfig", kubeconfig, "proxy", "--port=0"]);
  const [line] = await once(proxy.stdout, "data");
  return { proxy, proxyPort: Number(/:(\d+)/.exec(String(line))?.[1]) };
}
