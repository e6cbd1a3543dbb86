import { type AddressInfo, createServer } from "node:net";
import { Server, ServerCredentials, type ServiceDefinition, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { ownPort } from "../../support/network/own-share.ts";
import { runHandler } from "./run-handler.ts";

type Check = (
  service: string,
  metadata: Record<string, unknown>,
) => number | { code: status; details: string } | "hang";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A health service that reads and writes the messages byte by byte, apart from the code under test. */
async function serve(
  check: Check,
  { host = "127.0.0.1", path = "/grpc.health.v1.Health/Check" } = {},
): Promise<number> {
  const server = new Server();
  const definition: ServiceDefinition = {
    check: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => ({ service: bytes.subarray(2).toString() }),
      responseSerialize: ({ said }: { said: number }) => (said === 0 ? Buffer.alloc(0) : Buffer.of(8, said)),
      responseDeserialize: (bytes: Buffer) => bytes,
    },
  };
  server.addService(definition, {
    check(
      call: { request: { service: string }; metadata: { getMap(): Record<string, unknown> } },
      answer: (error: object | null, value?: { said: number }) => void,
    ) {
      const said = check(call.request.service, call.metadata.getMap());
      if (typeof said === "number") answer(null, { said });
      else if (said !== "hang") answer(said);
    },
  });
  closers.push(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    const address = host.includes(":") ? `[${host}]:0` : `${host}:0`;
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

describe("the response", () => {
  const rows: [string, number, object][] = [
    ["serving", 1, { kind: "success" }],
    ["not serving", 2, { kind: "failure", output: 'service unhealthy (responded with "NOT_SERVING")' }],
    ["unknown", 0, { kind: "failure", output: 'service unhealthy (responded with "UNKNOWN")' }],
    [
      "an unknown service",
      3,
      { kind: "failure", output: 'service unhealthy (responded with "SERVICE_UNKNOWN")' },
    ],
    ["a number without a name", 9, { kind: "failure", output: 'service unhealthy (responded with "9")' }],
  ];
  test.each(rows)("%s", async (_name, said, expected) => {
    const port = await serve(() => said);
    expect(await runHandler({ grpc: { port } })).toEqual(expected);
  });

  test("sends the service's name and the user agent", async () => {
    let seen: [string, unknown] | undefined;
    const port = await serve((service, metadata) => {
      seen = [service, metadata["user-agent"]];
      return 1;
    });
    await runHandler({ grpc: { port, service: "shop.v1.Cart" } });
    expect(seen).toEqual(["shop.v1.Cart", expect.stringMatching(/^kube-probe\/1\.36/)]);
  });

  test("IPv6 pods", async () => {
    const port = await serve(() => 1, { host: "::1" });
    expect(await runHandler({ grpc: { port } }, { ip: "::1" })).toEqual({ kind: "success" });
  });
});

describe("failures", () => {
  test("an error of the service", async () => {
    const port = await serve(() => ({ code: status.NOT_FOUND, details: "unknown service" }));
    expect(await runHandler({ grpc: { port } })).toEqual({
      kind: "failure",
      output: "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
    });
  });

  test("no health service", async () => {
    const port = await serve(() => 1, { path: "/other.Service/Check" });
    expect(await runHandler({ grpc: { port } })).toMatchObject({
      kind: "failure",
      output: expect.stringMatching(
        /^error: this server does not implement the grpc health protocol \(grpc\.health\.v1\.Health\): /,
      ),
    });
  });

  test("no response in time", async () => {
    const port = await serve(() => "hang");
    expect(await runHandler({ grpc: { port } }, { timeoutMs: 3_000 })).toEqual({
      kind: "failure",
      output: "timeout: health rpc did not complete within 3s",
    });
  });

  test("fails when nothing listens on the port", async () => {
    const port = await ownPort();
    expect(await runHandler({ grpc: { port } }, { timeoutMs: 100 })).toEqual({
      kind: "failure",
      output: `timeout: failed to connect service "127.0.0.1:${port}" within 100ms: context deadline exceeded`,
    });
  });

  test("a server that accepts connections and does not respond; the connection is closed with the probe", async () => {
    let closed: Promise<unknown> | undefined;
    const silent = createServer((socket) => {
      closed = new Promise((resolve) => socket.on("close", resolve));
      socket.on("error", () => {});
      socket.resume();
    });
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    closers.push(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const outcome = await runHandler({ grpc: { port } }, { timeoutMs: 100 });
    expect(outcome).toMatchObject({ kind: "failure", output: expect.stringMatching(/^timeout: /) });
    await closed;
  });
});
