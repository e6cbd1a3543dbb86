import { join } from "node:path";
import { expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { orderFromDaemon } from "../../src/runtime/control-server.ts";
import { makeNodeImage } from "../../src/tour/model/make-image.ts";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import type { CriRuntime } from "../support/cri/cri-runtime.ts";
import { probed, untilTold, useRuntimeNode } from "../support/node/runtime-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
const isRunning = (pod: Pod) => statusOf(pod)?.state?.running !== undefined;
const isStarted = (pod: Pod) => statusOf(pod)?.started === true;
const hasRestarted = (pod: Pod) => statusOf(pod)?.restartCount === 1;
const grpcPort = 9000;
const nodeImage = "test.local/node:1";

describeWithTool("busybox", "KEP-950 startupProbe checks real containers", () =>
  describeEachDriver(handlers),
);

function handlers(driver: "host" | "oci"): void {
  const host = useRuntimeNode({ driver });

  test("950-1 and 950-4 exec, httpGet, tcpSocket and grpc: `started` is false at first, and true as soon as the probe succeeds; not started is not ready", async () => {
    const { node, exec } = host;
    const ports = [{ name: "web", containerPort: 8080 }];
    const untilGo = "until [ -e /tmp/go ]; do sleep 0.1; done";
    const web = `${untilGo}; exec httpd -f -p 8080 -h /srv`;
    const grpcProbe = { grpc: { port: grpcPort, service: "slow" } };
    const nodePath = await importNodeImage(host.runtime);
    const pods: Record<string, object> = {
      exec: {
        containers: [
          probed({ exec: { command: ["cat", "/tmp/up"] } }, `${untilGo}; echo > /tmp/up; ${untilTold}`),
        ],
      },
      "http-get": {
        containers: [probed({ httpGet: { port: "web", path: "/index.html" } }, web, { ports })],
      },
      "tcp-socket": { containers: [probed({ tcpSocket: { port: 8080 } }, web)] },
      grpc: {
        containers: [probed(grpcProbe, "", { image: nodeImage, command: [nodePath, "-e", healthServer] })],
      },
    };
    const names = Object.keys(pods);
    const histories = await Promise.all(names.map((name) => node.follow(name)));
    await Promise.all(names.map((name) => node.run(name, pods[name] ?? {})));
    // Others may come before them: on a busy machine a command does not end in time.
    for (const [name, why] of [
      ["exec", /^Startup probe failed: cat: can't open '\/tmp\/up': No such file or directory/],
      [
        "http-get",
        /^Startup probe failed: Get "http:\/\/[\d.]+:8080\/index\.html": dial tcp [\d.]+:8080: connect: connection refused/,
      ],
      ["tcp-socket", /^Startup probe failed: dial tcp [\d.]+:8080: connect: connection refused/],
    ] as const)
      await node.untilEvent(name, why);
    // Before it listens the connection is refused.
    await node.untilEvent(
      "grpc",
      /^Startup probe failed: .*service unhealthy \(responded with "NOT_SERVING"\)/,
    );
    for (const name of names.filter((name) => name !== "grpc"))
      await exec(await node.until(name, isRunning), "echo > /tmp/go");
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
  });

  test("950-4 a restarted container is not started and not ready, and neither is one that exits before its probe succeeds", async () => {
    const { node, exec } = host;
    // It takes a while to end: long enough to see what is written meanwhile.
    const script = "trap 'sleep 1; exit 0' TERM; while :; do sleep 0.1; done";
    const container = probed({ exec: { command: ["cat", "/tmp/up"] } }, script);
    await node.run("again", { containers: [container], terminationGracePeriodSeconds: 30 });
    await exec(await node.until("again", isRunning), "echo > /tmp/up");
    const ready = await node.until("again", isReady);
    const history = await node.follow("again");
    await exec(ready, "kill 1");
    await node.until("again", (pod) => hasRestarted(pod) && isRunning(pod));
    await node.untilEvent("again", /^Startup probe failed: /);
    await node.client.delete("pods", { namespace: "default", name: "again" });
    await node.untilGone("again");
    await history.stop();
    const restarted = history.versions.filter(hasRestarted);
    expect(restarted.filter(isRunning).some(({ metadata }) => metadata.deletionTimestamp)).toBe(true);
    expect(restarted.filter((pod) => isStarted(pod) || statusOf(pod)?.ready || isReady(pod))).toEqual([]);
  });
}

/**
 * A health service in plain Node: the service `slow` serves from the third question on. In the answer, the field
 * `status`: 1 is serving, 2 is not.
 */
const healthServer = `
  let asked = 0;
  const answer = (isSlow) => Buffer.of(0, 0, 0, 0, 2, 8, isSlow && ++asked > 2 ? 1 : 2);
  process.on("SIGTERM", () => process.exit(0));
  require("node:http2").createServer().on("stream", (stream, headers) => {
    const question = [];
    stream.on("data", (chunk) => question.push(chunk));
    stream.on("end", () => {
      const known = headers[":path"] === "/grpc.health.v1.Health/Check";
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": known ? "0" : "12" }));
      stream.end(known ? answer(Buffer.concat(question).includes("slow")) : undefined);
    });
  }).listen(${grpcPort}, "0.0.0.0");
`;

/** An image of the Node that runs this; where Node is in it. */
async function importNodeImage({ dataDir, directory }: CriRuntime): Promise<string> {
  const { layout, node } = await makeNodeImage(join(directory, "node-image"), {
    signal: AbortSignal.timeout(100_000),
  });
  await orderFromDaemon(dataDir, { kind: "import", path: layout, tag: nodeImage });
  return node;
}
