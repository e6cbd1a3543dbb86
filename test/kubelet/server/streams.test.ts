import { randomBytes } from "node:crypto";
import { request } from "node:https";
import type { Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectTestStream, type TestStream } from "../../support/cri/cri-stream.ts";
import { connectSpdyStream } from "../../support/cri/spdy-stream.ts";
import { type HandmadePod, type KubeletBench, startKubeletBench } from "../../support/node/kubelet-pod.ts";
import { describeWithTool } from "../../support/programs/tools.ts";

describeWithTool("busybox", "/exec and /attach", () => {
  let bench: KubeletBench;
  let pod: HandmadePod;
  beforeAll(async () => {
    bench = await startKubeletBench();
    pod = await bench.makePod("shell", {
      web: { command: ["sh", "-c", "while read line; do echo got $line; done"], stdin: true },
    });
  });
  afterAll(() => bench?.close());

  interface Upgrade {
    headers: Record<string, string>;
    method?: "GET" | "POST";
    credentials?: { cert?: string; key?: string };
  }

  /** The connection once the kubelet has upgraded it; its refusal otherwise. */
  function upgrade(path: string, { headers, method = "GET", credentials }: Upgrade) {
    const { cert, key } = credentials ?? bench.kubelet.pki.kubeletClient;
    return new Promise<{ socket: Socket; head: Buffer }>((resolve, reject) => {
      const call = request(new URL(path, bench.kubelet.url), {
        method,
        cert,
        key,
        rejectUnauthorized: false,
        agent: false,
        headers: { connection: "Upgrade", ...headers },
      });
      call.once("error", reject);
      call.once("response", (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => reject(new Error(`${response.statusCode}: ${text}`)));
      });
      call.once("upgrade", (_, socket, head) => resolve({ socket, head }));
      call.end();
    });
  }
  const webSocket = (protocol = "v5.channel.k8s.io") => ({
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
    "sec-websocket-protocol": protocol,
  });
  const spdy = { upgrade: "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io" };

  async function openWebSocket(path: string, protocol?: string): Promise<TestStream> {
    const { socket, head } = await upgrade(path, { headers: webSocket(protocol) });
    return connectTestStream(socket, head);
  }
  const command = (...words: string[]) =>
    words.map((word) => `command=${encodeURIComponent(word)}`).join("&");
  const exec = (query: string, place = "default/shell/web") => `/exec/${place}?${query}`;

  test.each(["v5.channel.k8s.io", "v4.channel.k8s.io", "v9.example, v4.channel.k8s.io"])(
    "exec over WebSocket %s: outputs and exit code",
    async (protocol) => {
      const words = command("sh", "-c", "echo out; echo err >&2; exit 3");
      const stream = await openWebSocket(exec(`${words}&output=1&error=1`), protocol);
      const { stdout, stderr, status } = await stream.ended;
      expect({ stdout, stderr }).toEqual({ stdout: "out\n", stderr: "err\n" });
      expect(status).toMatchObject({ details: { causes: [{ message: "3" }] } });
    },
  );

  test("exec over WebSocket: input, to its end", async () => {
    const stream = await openWebSocket(exec(`${command("cat")}&input=1&output=1`));
    stream.send("one\n");
    stream.closeInput();
    expect(await stream.ended).toMatchObject({ stdout: "one\n", status: { status: "Success" } });
  });

  test("exec over SPDY, with the pod's uid in the path", async () => {
    const place = `default/shell/${pod.pod.metadata.uid}/web`;
    const { socket, head } = await upgrade(exec(`${command("cat")}&input=1&output=1&error=1`, place), {
      headers: spdy,
      method: "POST",
    });
    const stream = await connectSpdyStream({ socket, head }, ["error", "stdin", "stdout", "stderr"]);
    stream.send("x".repeat(500_000));
    stream.closeInput();
    const { stdout, status } = await stream.ended;
    expect(stdout.length).toBe(500_000);
    expect(status).toMatchObject({ status: "Success" });
  });

  test("attach: the container's own process", async () => {
    const stream = await openWebSocket("/attach/default/shell/web?input=1&output=1&error=1");
    stream.send("hello\n");
    await expect.poll(() => stream.stdout()).toContain("got hello");
    stream.destroy();
  });

  test("the process is killed when its client disconnects", async () => {
    const stream = await openWebSocket(exec(`${command("sleep", "7654")}&input=1&output=1`));
    const admin = bench.kubelet.as("admin", "system:masters");
    const processes = async () => (await admin.call("POST", "/run/default/shell/web?cmd=ps")).text;
    const started = expect.poll(processes).toContain("sleep 7654");
    await Promise.race([
      started,
      stream.ended.then((end) => expect(end, "exec ended early").toBeUndefined()),
    ]);
    stream.destroy();
    await expect.poll(processes).not.toContain("sleep 7654");
  });

  test("the caller's credentials are not forwarded to the runtime", async () => {
    const seen = await headersAtRuntime(() =>
      upgrade(exec(`${command("true")}&output=1`), {
        headers: {
          ...webSocket("base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io"),
          authorization: "Bearer secret",
          cookie: "secret",
          "x-remote-user": "admin",
        },
      }),
    );
    expect(seen).toContain("v5.channel.k8s.io");
    expect(seen).not.toMatch(/secret|c2VjcmV0|admin/);
  });

  test.each([
    ["a pod that is not there", "/exec/default/missing/web?command=a&output=1", "404: pod does not exist"],
    [
      "another pod of that name",
      "/exec/default/shell/other-uid/web?command=a&output=1",
      "404: pod does not exist",
    ],
    [
      "a container that does not run",
      "/exec/default/shell/none?command=a&output=1",
      '500: container not found ("none")',
    ],
    [
      "no streams",
      "/exec/default/shell/web?command=a",
      "400: you must specify at least 1 of stdin, stdout, stderr",
    ],
    ["no command", "/exec/default/shell/web?output=1", /500: .*cmd is missing/],
    [
      "port-forward in an unknown protocol",
      "/portForward/default/shell",
      "400: the protocol must be v4.channel",
    ],
    ["port-forward to no port", "/portForward/default/shell?port=0", '400: unable to parse "0" as a port'],
    ["a path without streams", "/pods", "400: this path does not take an upgrade"],
  ])("%s is refused", async (_, path, message) => {
    await expect(upgrade(path, { headers: webSocket() })).rejects.toThrow(message);
  });

  test("rejects callers without permission and requests without an upgrade", async () => {
    const path = exec(`${command("true")}&output=1`);
    await expect(upgrade(path, { headers: webSocket(), credentials: {} })).rejects.toThrow(
      "401: Unauthorized",
    );
    await expect(
      upgrade(path, { headers: webSocket(), credentials: bench.kubelet.pki.scheduler }),
    ).rejects.toThrow(/403: Forbidden \(user=system:kube-scheduler, verb=get/);
    const admin = bench.kubelet.as("admin", "system:masters");
    for (const method of ["GET", "POST"])
      expect(await admin.call(method, path)).toMatchObject({ status: 400, text: "Upgrade request required" });
  });

  test("a protocol that the runtime does not support is rejected with the runtime's message", async () => {
    await expect(
      upgrade(exec(`${command("true")}&output=1`), {
        headers: { ...spdy, "x-stream-protocol-version": "v9" },
      }),
    ).rejects.toThrow(/403: unable to upgrade: .*v4.channel.k8s.io/);
  });

  /** Head of the request that arrives at the runtime's streaming URL. */
  async function headersAtRuntime(send: () => Promise<unknown>): Promise<string> {
    const { createServer } = await import("node:net");
    const { runtime } = bench.runtime.client;
    let head = "";
    const server = createServer((socket) => {
      socket.once("data", (bytes) => {
        head = bytes.toString();
        socket.end("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const original = runtime.exec;
    Object.assign(runtime, { exec: async () => ({ url: `http://127.0.0.1:${port}/exec/token` }) });
    await send().catch(() => {});
    Object.assign(runtime, { exec: original });
    await new Promise((resolve) => server.close(resolve));
    return head;
  }
});
