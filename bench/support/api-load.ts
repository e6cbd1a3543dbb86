import { Agent, request } from "node:https";
import { runWrk } from "./wrk.ts";

export const benchToken = "bench-token";
const headers = { authorization: `Bearer ${benchToken}` };
const pods = "/api/v1/namespaces/default/pods";

/** Typical pod: two containers, probe, resources, environment, a volume. */
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "NAME", labels: { app: "bench", tier: "web", "pod-template-hash": "5d8f9c7b6" } },
  spec: {
    nodeName: "node-1",
    containers: [
      {
        name: "web",
        image: "registry.local/web:1.2.3",
        args: ["--port=8080", "--verbose"],
        ports: [{ name: "http", containerPort: 8080 }],
        env: [
          { name: "MODE", value: "production" },
          { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        ],
        resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
        readinessProbe: { httpGet: { path: "/ready", port: "http" }, periodSeconds: 5 },
        volumeMounts: [{ name: "config", mountPath: "/etc/config" }],
      },
      { name: "sidecar", image: "registry.local/sidecar:1" },
    ],
    volumes: [{ name: "config", configMap: { name: "config" } }],
  },
};

const statusPatch = {
  status: {
    phase: "Running",
    message: "NUMBER",
    podIP: "10.0.0.1",
    conditions: ["Initialized", "Ready", "ContainersReady"].map((type) => ({
      type,
      status: "True",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    })),
  },
};

interface LoadOptions {
  seconds: number;
  connections: number;
}

/** Rates of an API server's hot requests in requests per second, measured with wrk. */
export function createApiLoad(url: string, { seconds, connections }: LoadOptions) {
  let batch = 0;
  const run = async (target: string, script?: string) => {
    const { requestsPerSecond, failures } = await runWrk({
      url: target,
      script,
      seconds,
      connections,
      headers,
    });
    if (failures > 0) throw new Error(`${failures} requests to ${target} failed`);
    return requestsPerSecond;
  };
  return {
    creates: () =>
      run(
        url,
        luaRequests("POST", pods, "application/json", JSON.stringify(pod), `b${process.pid}-${batch++}-`),
      ),
    gets: () => run(`${url}${pods}/fixed-1`),
    /** Requests are spread over the `count` pods that `fill` created. */
    patches: (count: number) =>
      run(url, luaPatches(count, JSON.stringify(statusPatch), "application/strategic-merge-patch+json")),
    fill: async (count: number) => {
      for (let start = 1; start <= count; start += 50) {
        const names = Array.from({ length: Math.min(50, count - start + 1) }, (_, i) => `fixed-${start + i}`);
        await Promise.all(
          names.map((name) => post(`${url}${pods}`, JSON.stringify(pod).replace("NAME", name))),
        );
      }
    },
    /** Gets one of the pods that `fill` created. */
    objectBytes: async () => Buffer.byteLength(await send(`${url}${pods}/fixed-1`, "GET")),
    listMs: async () => {
      const startedAt = performance.now();
      await send(`${url}/api/v1/pods`, "GET");
      return performance.now() - startedAt;
    },
  };
}

function luaRequests(
  method: string,
  path: string,
  contentType: string,
  body: string,
  prefix: string,
): string {
  return `local n = 0
local body = [[${body}]]
request = function()
  n = n + 1
  return wrk.format("${method}", "${path}", { ["content-type"] = "${contentType}", ["authorization"] = "Bearer ${benchToken}" }, (body:gsub("NAME", "${prefix}" .. n)))
end`;
}

function luaPatches(count: number, body: string, contentType: string): string {
  return `local n = 0
local body = [[${body}]]
request = function()
  n = n + 1
  return wrk.format("PATCH", "${pods}/fixed-" .. (n % ${count} + 1) .. "/status", { ["content-type"] = "${contentType}", ["authorization"] = "Bearer ${benchToken}" }, (body:gsub("NUMBER", tostring(n) .. os.time())))
end`;
}

/** Creates config maps of this size in the default namespace. */
export async function createConfigMaps(
  url: string,
  objects: { count: number; bytes: number },
): Promise<void> {
  const data = { filler: "x".repeat(objects.bytes) };
  for (let i = 0; i < objects.count; i++)
    await post(
      `${url}/api/v1/namespaces/default/configmaps`,
      JSON.stringify({ metadata: { name: `c${i}` }, data }),
    );
}

/** Creates the definition of `thingsINDEX.example.com`. */
export async function createDefinition(
  url: string,
  { index, schema }: { index: number; schema: object },
): Promise<void> {
  const names = { plural: `things${index}`, kind: `Thing${index}` };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  await post(
    `${url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
    JSON.stringify({
      metadata: { name: `${names.plural}.example.com` },
      spec: { group: "example.com", scope: "Namespaced", names, versions: [version] },
    }),
  );
}

export const readBody = (url: string) => send(url, "GET");

const agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });

export const post = (url: string, body: string) => send(url, "POST", body);

function send(url: string, method: string, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sending = request(
      url,
      { method, agent, headers: { ...headers, "content-type": "application/json" } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if ((response.statusCode ?? 500) < 300) resolve(text);
          else reject(new Error(`${method} ${url}: ${response.statusCode} ${text}`));
        });
      },
    );
    sending.on("error", reject);
    sending.end(body);
  });
}

/** Opens one watch per node by spec.nodeName. Returns a function that closes them. */
export async function openNodeWatches(url: string, count: number): Promise<() => void> {
  const watching = new Agent({
    keepAlive: true,
    maxSockets: Number.POSITIVE_INFINITY,
    rejectUnauthorized: false,
  });
  const open = (node: number) =>
    new Promise<void>((resolve, reject) => {
      const path = `/api/v1/pods?watch=true&resourceVersion=0&fieldSelector=spec.nodeName%3Dwatched-${node}`;
      const sending = request(`${url}${path}`, { agent: watching, headers }, (response) => {
        response.on("error", () => {});
        response.resume();
        resolve();
      });
      sending.on("error", reject);
      sending.end();
    });
  for (let start = 0; start < count; start += 100) {
    await Promise.all(Array.from({ length: Math.min(100, count - start) }, (_, i) => open(start + i)));
  }
  return () => watching.destroy();
}
