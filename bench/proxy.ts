/**
 * Service proxy: requests through a cluster IP against the pod's address, the memory of the relay, the time to program
 * 5,000 services with 20 endpoints each, and the time from a ready endpoint to the first connection that it answers, beside
 * upstream's kube-proxy in nftables mode if it is on the PATH.
 *
 *   npm run bench -- proxy [services]      as root, with nftables and iproute2
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connectCluster } from "../src/client/api/create-client.ts";
import { silentLogger } from "../src/lib/logger.ts";
import type { ProxyBackend } from "../src/proxy/model/backend.ts";
import type { ServicePort } from "../src/proxy/model/service-port.ts";
import { createNftablesBackend } from "../src/proxy/nftables/nftables-backend.ts";
import { createUserspaceBackend } from "../src/proxy/userspace/userspace-backend.ts";
import { measureFirstConnection } from "./support/first-connection.ts";
import { median } from "./support/median.ts";

const bridge = "kdlbench";
const gateway = "10.77.0.1";
const pod = { namespace: `kdlbench-${process.pid}`, address: "10.77.0.11" };
const client = { namespace: `kdlbench-${process.pid}-c`, address: "10.77.0.12" };
const clusterIP = "10.96.0.7";

async function main(services: number): Promise<void> {
  const server = openNetwork();
  try {
    await delay(500);
    await measureRequests();
    await measureMemory();
    await measureProgramming(services);
  } finally {
    server.kill();
  }
}

function openNetwork(): ChildProcess {
  const ip = (...args: string[]) => execFileSync("ip", args);
  ip("link", "add", bridge, "type", "bridge");
  ip("address", "add", `${gateway}/24`, "dev", bridge);
  ip("link", "set", bridge, "up");
  writeFileSync("/proc/sys/net/ipv4/ip_forward", "1");
  for (const [i, { namespace, address }] of [pod, client].entries()) {
    ip("netns", "add", namespace);
    ip("link", "add", `kdlb${i}`, "type", "veth", "peer", "name", "eth0", "netns", namespace);
    ip("link", "set", `kdlb${i}`, "master", bridge, "up");
    ip("-n", namespace, "link", "set", "lo", "up");
    ip("-n", namespace, "address", "add", `${address}/32`, "dev", "eth0");
    ip("-n", namespace, "link", "set", "eth0", "up");
    ip("-n", namespace, "route", "add", gateway, "dev", "eth0", "scope", "link");
    ip("-n", namespace, "route", "add", "default", "via", gateway);
  }
  const program = `require("net").createServer((s)=>{s.on("error",()=>{});s.setNoDelay();s.on("data",(d)=>s.write(d))}).listen(8080)`;
  return spawn("ip", ["netns", "exec", pod.namespace, process.execPath, "-e", program], { stdio: "inherit" });
}

const port: ServicePort = {
  name: "default/web:",
  family: "IPv4",
  protocol: "TCP",
  clusterIP,
  port: 80,
  nodePort: undefined,
  externalIPs: [],
  loadBalancerIPs: [],
  sourceRanges: [],
  affinitySeconds: undefined,
  internalPolicy: "Cluster",
  externalPolicy: "Cluster",
  endpoints: { cluster: [{ address: pod.address, port: 8080, isLocal: true }], local: [], hasAny: true },
};
const state = new Map([["default/web", [port]]]);

function openUserspace(): ProxyBackend {
  return createUserspaceBackend({
    interface: bridge,
    nodePortAddresses: [],
    exposedAddresses: [],
    podSubnets: [`${gateway}/24`],
    serviceSubnet: "10.96.0.0/16",
    addressRecord: join(tmpdir(), `kindling-bench-${process.pid}.json`),
    relayProgram: resolve("dist/relay-process.js"),
    logger: silentLogger,
  });
}

/** Echoes of 100 bytes a second over 50 connections, for two seconds. */
function requestsPerSecond(host: string, to: number): number {
  const program = `let n=0;const m=Buffer.alloc(100);for(let i=0;i<50;i++){const s=require("net").connect(${to},"${host}");s.setNoDelay();s.on("connect",()=>s.write(m));s.on("data",()=>{n++;s.write(m)})}
setTimeout(()=>{const a=n;setTimeout(()=>{console.log((n-a)/2);process.exit()},2000)},500)`;
  return Number(
    execFileSync("ip", ["netns", "exec", client.namespace, process.execPath, "-e", program], {
      encoding: "utf8",
    }),
  );
}

async function measureRequests(): Promise<void> {
  const backends: readonly (readonly [string, () => Promise<ProxyBackend>])[] = [
    ["nftables", openNftables],
    ["userspace", async () => openUserspace()],
  ];
  for (const [name, open] of backends) {
    const backend = await open();
    await backend.sync(state, undefined);
    const rounds = Array.from({ length: 5 }, () => {
      const direct = requestsPerSecond(pod.address, 8080);
      const through = requestsPerSecond(clusterIP, 80);
      return { direct, through, ratio: through / direct };
    });
    const of = (key: "direct" | "through" | "ratio") => median(rounds.map((round) => round[key]));
    console.log(
      `${name}: ${of("through").toFixed(0)} requests/s through the cluster IP, ${of("direct").toFixed(0)} to the pod: ${(of("ratio") * 100).toFixed(0)} %`,
    );
    await backend.remove();
    await backend.close();
  }
}

function openNftables(): Promise<ProxyBackend> {
  return createNftablesBackend({
    table: "kindling-bench",
    podInterface: bridge,
    nodePortAddresses: [],
    exposedAddresses: [],
    logger: silentLogger,
  });
}

/** Memory of the relay with 1,000 open connections that have each sent a request. */
async function measureMemory(): Promise<void> {
  const backend = openUserspace();
  await backend.sync(state, undefined);
  const program = `let n=0;for(let i=0;i<1000;i++){const s=require("net").connect(80,"${clusterIP}");s.on("connect",()=>s.write("x"));s.on("data",()=>{if(++n===1000)console.log("open")})}`;
  const connections = spawn("ip", ["netns", "exec", client.namespace, process.execPath, "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => connections.stdout.once("data", resolve));
  const relay = execFileSync("pgrep", ["--parent", String(process.pid), "--full", "relay-process"], {
    encoding: "utf8",
  }).trim();
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${relay}/status`, "utf8"))?.[1];
  console.log(`userspace: ${(Number(rss) / 1_000).toFixed(1)} MB in the relay with 1,000 connections`);
  connections.kill();
  await backend.remove();
}

async function measureProgramming(services: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "kindling-bench-"));
  const kubeconfig = join(folder, "kubeconfig");
  const api = spawn(
    process.execPath,
    [
      "dist/kindling.js",
      "apiserver",
      "--store",
      "memory",
      "--data-dir",
      folder,
      "--listen",
      "127.0.0.1:0",
      "--kubeconfig",
      kubeconfig,
      "--log-level",
      "error",
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  try {
    await new Promise((resolve) => api.stdout.once("data", resolve));
    await createServices(kubeconfig, services);
    const ours = [
      "dist/kindling.js",
      "proxy",
      "--kubeconfig",
      kubeconfig,
      "--node-name",
      "here",
      "--metrics-listen",
      "127.0.0.1:10249",
      "--log-level",
      "error",
    ];
    await measureProxy("kindling proxy", kubeconfig, [process.execPath, ...ours]);
    execFileSync(process.execPath, ["dist/kindling.js", "proxy", "--cleanup"]);
    if (spawnSync("kube-proxy", ["--version"]).status !== 0) return;
    await measureProxy("kube-proxy", kubeconfig, [
      "kube-proxy",
      "--kubeconfig",
      kubeconfig,
      "--proxy-mode",
      "nftables",
      "--hostname-override",
      "here",
      "--metrics-bind-address",
      "127.0.0.1:10249",
      "--conntrack-max-per-core",
      "0",
      "--v",
      "0",
    ]);
  } finally {
    api.kill();
    await delay(300);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function createServices(kubeconfig: string, services: number): Promise<void> {
  const { request, close } = await connectCluster({ kubeconfig, userAgent: "kindling-bench" });
  const create = async (i: number) => {
    const name = `s${i}`;
    await request("POST", "/api/v1/namespaces/default/services", {
      body: { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: 80 }] } },
    });
    const endpoints = Array.from({ length: 20 }, (_, k) => {
      const n = i * 20 + k;
      return {
        addresses: [`10.${128 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`],
        conditions: { ready: true },
        nodeName: "there",
      };
    });
    await request("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      body: {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
        addressType: "IPv4",
        ports: [{ name: "", port: 8080, protocol: "TCP" }],
        endpoints,
      },
    });
  };
  for (let i = 0; i < services; i += 50)
    await Promise.all(Array.from({ length: Math.min(50, services - i) }, (_, k) => create(i + k)));
  close();
}

/** Time from the start of the process to the first complete sync, and from a ready endpoint to its first connection. */
async function measureProxy(
  name: string,
  kubeconfig: string,
  [program = "", ...args]: readonly string[],
): Promise<void> {
  const started = performance.now();
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore"] });
  try {
    for (;;) {
      await delay(20);
      const text = await fetch("http://127.0.0.1:10249/metrics").then(
        (response) => response.text(),
        () => "",
      );
      // kube-proxy has a series for each IP family.
      const sample = (metric: string) =>
        Number(
          new RegExp(`^kubeproxy_${metric}(?:\\{ip_family="IPv4"\\})? (\\S+)`, "m").exec(text)?.[1] ?? 0,
        );
      if (sample("sync_proxy_rules_last_timestamp_seconds") === 0) continue;
      const seconds = (performance.now() - started) / 1_000;
      const sync = sample("sync_full_proxy_rules_duration_seconds_sum");
      console.log(`${name}: ${sync.toFixed(2)} s for the first sync, ${seconds.toFixed(2)} s from its start`);
      break;
    }
    const { request, close } = await connectCluster({ kubeconfig, userAgent: "kindling-bench" });
    const ms = await measureFirstConnection({
      request,
      namespace: client.namespace,
      clusterIP,
      endpoint: pod.address,
      rounds: 10,
    });
    close();
    console.log(`${name}: ${ms.toFixed(0)} ms from a ready endpoint to its first connection (median of 10)`);
  } finally {
    child.kill();
    await new Promise((resolve) => child.once("exit", resolve));
  }
}

if (process.env.KINDLING_BENCH_NAMESPACE) await main(Number(process.argv[2] ?? 5_000));
else {
  const script = 'mount -t sysfs none /sys && mount -t tmpfs none /run && ip link set lo up && exec "$@"';
  const { status } = spawnSync(
    "unshare",
    [
      "--net",
      "--mount",
      "--propagation",
      "private",
      "sh",
      "-c",
      script,
      "sh",
      process.execPath,
      ...process.argv.slice(1),
    ],
    { stdio: "inherit", env: { ...process.env, KINDLING_BENCH_NAMESPACE: "1" } },
  );
  process.exit(status ?? 1);
}
