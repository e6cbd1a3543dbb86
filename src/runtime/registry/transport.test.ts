import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, expect, test } from "vitest";
import { parseReference } from "./reference.ts";
import { endpointsFor, noRegistries } from "./registries-config.ts";
import { createRegistryClient } from "./registry-client.ts";
import { createTransport } from "./transport.ts";

const servers: Server[] = [];
const transport = createTransport();
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  return `127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}

/** Answers with a body that never ends; tells when the client has had enough of it. */
function endless(onLeft: () => void, head: { status: number; location?: string }): RequestListener {
  return (_request, response) => {
    const { status, location } = head;
    response.writeHead(status, location === undefined ? {} : { location });
    const flood = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16 << 10)));
    };
    response.on("drain", flood).once("close", onLeft);
    flood();
  };
}

const never = new AbortController().signal;

test("a redirect with a body that never ends is followed, and its connection left", async () => {
  const target = await serve((_request, response) => response.end("here"));
  let left = false;
  const listener = endless(() => (left = true), { status: 302, location: `http://${target}/` });
  const source = await serve(listener);
  const { status } = await transport.send({ url: new URL(`http://${source}/`), signal: never });
  expect(status).toBe(200);
  await expect.poll(() => left).toBe(true);
});

test.each([404, 401, 503])(
  "a refusal (%i) with a body that never ends is told, and its connection left",
  async (status) => {
    let left = false;
    const host = await serve(endless(() => (left = true), { status }));
    const client = createRegistryClient({
      transport,
      reference: parseReference(`${host}/image`),
      endpoints: endpointsFor(host, noRegistries),
      credentialFor: () => ({ kind: "anonymous" }),
      onActivity: () => {},
    });
    await expect(client.manifest("latest", never)).rejects.toThrow(host);
    await expect.poll(() => left).toBe(true);
  },
);

test("a short refusal leaves the connection to the next request", async () => {
  const ports = new Set<number | undefined>();
  const host = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.writeHead(request.url === "/" ? 302 : 200, { location: "/there" }).end("moved");
  });
  for (let i = 0; i < 20; i++) {
    const response = await transport.send({ url: new URL(`http://${host}/`), signal: never });
    await once(response.body.resume(), "end");
  }
  expect(ports.size).toBeLessThan(10);
});
