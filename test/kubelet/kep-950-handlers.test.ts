import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import { afterAll, describe, expect, test } from "vitest";
import type { Pod } from "../../src/api/objects.ts";
import { probed, untilTold, useRuntimeNode } from "../support/runtime-node.ts";
import { isReady } from "../support/simulated-node.ts";
import { describeWithTool } from "../support/tools.ts";

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
const isRunning = (pod: Pod) => statusOf(pod)?.state?.running !== undefined;
const isStarted = (pod: Pod) => statusOf(pod)?.started === true;
const closing: (() => void)[] = [];
afterAll(() => {
  for (const close of closing) close();
});

describeWithTool("busybox", "KEP-950 startupProbe asks real containers", () => {
  describe("with the driver host", () => handlers("host"));
  describeWithTool("conmon", "with the driver oci", () => handlers("oci"));
});

/** Started after two seconds, by whatever the probe asks. */
function handlers(driver: "host" | "oci"): void {
  const host = useRuntimeNode({ driver });

  test("950-1 and 950-4 exec, httpGet, tcpSocket and grpc: `started` is false at first, and true as soon as the probe succeeds; not started is not ready", async () => {
    const { node } = host;
    const ports = [{ name: "web", containerPort: 8080 }];
    const web = `sleep 2; exec httpd -f -p 8080 -h /srv`;
    const grpcPort = await serveHealth();
    const grpcProbe = { grpc: { port: grpcPort, service: "slow" } };
    const pods: Record<string, object> = {
      exec: {
        containers: [
          probed({ exec: { command: ["cat", "/tmp/up"] } }, `sleep 2; echo > /tmp/up; ${untilTold}`),
        ],
      },
      "http-get": {
        containers: [probed({ httpGet: { port: "web", path: "/index.html" } }, web, { ports })],
      },
      "tcp-socket": { containers: [probed({ tcpSocket: { port: 8080 } }, web)] },
      grpc: { hostNetwork: true, containers: [probed(grpcProbe, untilTold)] },
    };
    const names = Object.keys(pods);
    const histories = await Promise.all(names.map((name) => node.follow(name)));
    await Promise.all(names.map((name) => node.run(name, pods[name] ?? {})));
    await Promise.all(names.map((name) => node.until(name, isReady)));
    for (const { versions, stop } of histories) {
      await stop();
      const running = versions.filter(isRunning);
      expect(running[0]).toMatchObject({
        status: { containerStatuses: [{ started: false, ready: false, restartCount: 0 }] },
      });
      expect(running.at(-1)).toMatchObject({
        status: { containerStatuses: [{ started: true, ready: true, restartCount: 0 }] },
      });
      // In no version of the pod.
      expect(versions.filter((pod) => !isStarted(pod) && (statusOf(pod)?.ready || isReady(pod)))).toEqual([]);
    }
    expect((await node.untilEvent("exec", /^Startup probe failed: /)).message).toMatch(
      /^Startup probe failed: cat: can't open '\/tmp\/up': No such file or directory/,
    );
    expect((await node.untilEvent("http-get", /^Startup probe failed: /)).message).toMatch(
      /Get "http:\/\/[\d.]+:8080\/index\.html": dial tcp [\d.]+:8080: connect: connection refused/,
    );
    expect((await node.untilEvent("tcp-socket", /^Startup probe failed: /)).message).toMatch(
      /dial tcp [\d.]+:8080: connect: connection refused/,
    );
    expect((await node.untilEvent("grpc", /^Startup probe failed: /)).message).toContain(
      'service unhealthy (responded with "NOT_SERVING")',
    );
  });
}

/** A health service on the host's network that serves two seconds after its first question. */
async function serveHealth(): Promise<number> {
  const server = new GrpcServer();
  let askedAt: number | undefined;
  const bytes = (value: Buffer) => value;
  server.addService(
    {
      check: {
        path: "/grpc.health.v1.Health/Check",
        requestStream: false,
        responseStream: false,
        requestSerialize: bytes,
        requestDeserialize: bytes,
        responseSerialize: bytes,
        responseDeserialize: bytes,
      },
    },
    {
      check(_call: unknown, answer: (error: null, value: Buffer) => void) {
        askedAt ??= Date.now();
        // The field `status`: 1 is serving, 2 is not.
        answer(null, Buffer.of(8, Date.now() - askedAt > 2_000 ? 1 : 2));
      },
    },
  );
  closing.push(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    server.bindAsync("0.0.0.0:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}
