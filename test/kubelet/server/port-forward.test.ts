import { createHash } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { describeEachDriver } from "../../support/cri/cri-drivers.ts";
import { startCriRuntime } from "../../support/cri/cri-runtime.ts";
import { describeEachKubectl } from "../../support/kubectl/kubectl.ts";
import {
  fetchText,
  loopbackServer,
  portForwardProtocols,
  startPortForward,
} from "../../support/kubectl/port-forward.ts";
import { type KubeletBench, startKubeletBench } from "../../support/node/kubelet-pod.ts";
import { describeWithTool } from "../../support/programs/tools.ts";

/** kubectl, through the API server, to a kubelet's server, to our runtime, to a server on the pod's loopback. */
describeWithTool("busybox", "port-forward", () => describeEachDriver(suite));

function suite(driver: "oci" | "host"): void {
  let bench: KubeletBench;
  let kubeconfig: string;
  beforeAll(async () => {
    bench = await startKubeletBench(await startCriRuntime({ driver }));
    kubeconfig = bench.kubelet.api.kubeconfig;
    await bench.makePod("web", {
      web: loopbackServer,
      echo: { command: ["sh", "-c", "exec nc -ll -p 7777 -e cat"] },
    });
  });
  afterAll(() => bench?.close());

  describeEachKubectl((tool) => {
    test.each(portForwardProtocols)("requests one after the other and at once, over %s", async (_, env) => {
      const forward = await startPortForward({ kubeconfig, args: ["web", ":8080"], env, tool });
      await expect.poll(() => fetchText(forward.port)).toBe("hello");
      const texts = await Promise.all(Array.from({ length: 20 }, () => fetchText(forward.port)));
      expect(new Set(texts)).toEqual(new Set(["hello"]));
      await forward.stop();
    });

    test.each(portForwardProtocols)("megabytes in both directions, over %s", async (_, env) => {
      const forward = await startPortForward({ kubeconfig, args: ["web", ":7777"], env, tool });
      const data = Buffer.alloc(4 << 20, "0123456789abcdef");
      await expect.poll(() => echoHash(forward.port, data)).toBe(hashOf(data));
      await forward.stop();
    });

    test("a port without a server fails with the reason, and kubectl continues", async () => {
      const forward = await startPortForward({ kubeconfig, args: ["web", ":81", ":8080"], tool });
      await expect(fetchText(forward.port)).rejects.toThrow();
      await expect.poll(forward.output).toContain("ECONNREFUSED");
      await forward.stop();
    });
  });

  test("the protocol of older clients over WebSocket: a pair of channels for each port", async () => {
    const { runtime } = bench.runtime.client;
    const [sandbox] = (await runtime.listPodSandbox({ filter: undefined })).items;
    const { url } = await runtime.portForward({ podSandboxId: sandbox?.id ?? "", port: [8080] });
    const socket = new WebSocket(url, ["v4.channel.k8s.io"]);
    const received: Buffer[][] = [[], []];
    socket.on("message", (data: Buffer) => received[data[0] ?? 0]?.push(data.subarray(1)));
    await new Promise((resolve) => socket.once("open", resolve));
    socket.send(Buffer.concat([Buffer.from([0]), Buffer.from("GET / HTTP/1.0\r\n\r\n")]));
    await new Promise((resolve) => socket.once("close", resolve));
    const [data = "", errors = ""] = received.map((chunks) => Buffer.concat(chunks).toString("latin1"));
    expect(data.slice(0, 2)).toBe("\x90\x1f");
    expect(data).toMatch(/HTTP\/1\.1 200 OK[\s\S]*hello$/);
    expect(errors).toBe("\x90\x1f");
  });
}

const hashOf = (data: Buffer) => createHash("sha256").update(data).digest("hex");

/** Sends everything to a server that echoes, and reads as much. */
function echoHash(port: number, data: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const hash = createHash("sha256");
    let size = 0;
    const socket = connect(port, "127.0.0.1", () => void socket.write(data));
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`closed after ${size} bytes`)));
    socket.on("data", (chunk) => {
      hash.update(chunk);
      size += chunk.length;
      if (size < data.length) return;
      resolve(hash.digest("hex"));
      socket.destroy();
    });
  });
}
