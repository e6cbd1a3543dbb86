import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/client/api/client.ts";
import { median } from "./median.ts";

interface Options {
  readonly request: Client["request"];
  /** Network namespace of the client. */
  readonly namespace: string;
  readonly clusterIP: string;
  /** Server that sends back what it receives, at port 8080. */
  readonly endpoint: string;
  readonly rounds: number;
}

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/** Connects until a line is sent back, and prints the time of that, for each line of its input. */
const prober = (host: string) => `
const attempt = () => {
  const socket = require("net").connect({ host: "${host}", port: 80 });
  const again = () => { socket.destroy(); setTimeout(attempt, 1); };
  const timer = setTimeout(again, 50);
  socket.on("error", () => { clearTimeout(timer); again(); });
  socket.on("connect", () => socket.write("x"));
  socket.on("data", () => { clearTimeout(timer); socket.destroy(); console.log(Date.now()); });
};
process.stdin.on("data", attempt);`;

/**
 * Measures the time from the write of a ready endpoint to the first connection that it answers. Without endpoints
 * connections are rejected, so the client tries about once a millisecond. Returns the median in milliseconds.
 */
export async function measureFirstConnection(options: Options): Promise<number> {
  const { request, namespace, clusterIP, endpoint, rounds } = options;
  const name = "first-connection";
  await request("POST", "/api/v1/namespaces/default/services", {
    body: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { clusterIP, ports: [{ port: 80, targetPort: 8080 }] },
    },
  });
  const slice = (addresses: readonly string[]) => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "", port: 8080, protocol: "TCP" }],
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true },
      nodeName: "here",
    })),
  });
  await request("POST", slices, { body: slice([]) });
  const child = startProber(namespace, clusterIP);
  const lines = createInterface({ input: child.stdout });
  const latencies: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      // Longer than the time for which a proxy may delay the next sync.
      await delay(1_500 + Math.random() * 500);
      const answered = once(lines, "line");
      child.stdin.write("\n");
      await delay(100);
      const writtenAt = Date.now();
      await request("PUT", `${slices}/${name}`, { body: slice([endpoint]) });
      latencies.push(Number((await answered)[0]) - writtenAt);
      await request("PUT", `${slices}/${name}`, { body: slice([]) });
    }
    return median(latencies);
  } finally {
    child.kill();
    await request("DELETE", `/api/v1/namespaces/default/services/${name}`);
    await request("DELETE", `${slices}/${name}`);
  }
}

function startProber(namespace: string, host: string) {
  const command = ["netns", "exec", namespace, process.execPath, "-e", prober(host)];
  return spawn("ip", command, { stdio: ["pipe", "pipe", "inherit"] }) satisfies ChildProcess;
}
