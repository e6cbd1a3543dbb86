import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, expect, test } from "vitest";
import { endpointsFor, noRegistries } from "./credentials.ts";
import { parseReference } from "./reference.ts";
import { createRegistryClient } from "./registry-client.ts";
import {
  checkReach,
  createTransport,
  lookupWithin,
  reachOfRedirect,
  reachOfTokenServer,
} from "./transport.ts";

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

/** Sends an endless body and calls back when the client closes the connection. */
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

test("follows a redirect with an endless body and closes its connection", async () => {
  const target = await serve((_request, response) => response.end("here"));
  let left = false;
  const listener = endless(() => (left = true), { status: 302, location: `http://${target}/` });
  const source = await serve(listener);
  const { status } = await transport.send({ url: new URL(`http://${source}/`), signal: never });
  expect(status).toBe(200);
  await expect.poll(() => left).toBe(true);
});

test.each([404, 401, 503])(
  "returns status %i of a response with an endless body and closes its connection",
  async (status) => {
    let left = false;
    const host = await serve(endless(() => (left = true), { status }));
    const client = createRegistryClient({
      transport,
      reference: parseReference(`${host}/image`),
      endpoints: endpointsFor(host, noRegistries),
      credentialFor: () => ({ kind: "anonymous" }),
    });
    const request = { signal: never, onActivity: () => {} };
    await expect(client.manifest("latest", request)).rejects.toThrow(host);
    await expect.poll(() => left).toBe(true);
  },
);

test("reuses the connection after a short response", async () => {
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

test("closeIdle makes the next request open a new connection", async () => {
  const ports: (number | undefined)[] = [];
  const host = await serve((request, response) => {
    ports.push(request.socket.remotePort);
    response.end();
  });
  const request = async () => {
    const { body } = await transport.send({ url: new URL(`http://${host}/`), signal: never });
    await once(body.resume(), "close");
  };
  await request();
  await request();
  transport.closeIdle();
  await request();
  expect(ports[1]).toBe(ports[0]);
  expect(ports[2]).not.toBe(ports[0]);
});

test.each([
  ["https://registry.example/v2/", "remote"],
  ["http://127.0.0.1:5000/v2/", "loopback"],
  ["http://localhost:5000/v2/", "loopback"],
  ["http://[::1]:5000/v2/", "loopback"],
  ["http://0.0.0.0:5000/v2/", "loopback"],
])("a redirect of %s reaches: %s", (from, reach) => {
  expect(reachOfRedirect(new URL(from))).toBe(reach);
});

test.each([
  ["https://registry.example/v2/", "https://auth.example/token", "remote"],
  ["https://registry.example/v2/", "https://registry.example/token", "any"],
  ["http://127.0.0.1:5000/v2/", "http://127.0.0.1:5001/token", "remoteOrLoopback"],
])("a token server of %s at %s reaches: %s", (registry, realm, reach) => {
  expect(reachOfTokenServer(new URL(registry), new URL(realm))).toBe(reach);
});

test.each([
  "http://127.0.0.1/",
  "http://127.1/",
  "http://2130706433/",
  "http://0/",
  "http://localhost/",
  "http://LOCALHOST/",
  "http://x.localhost/",
  "http://[::1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://169.254.169.254/",
  "http://0xa9fea9fe/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
  "http://100.100.100.200/latest/meta-data/",
])("rejects %s", (url) => {
  expect(() => checkReach("remote", new URL(url).hostname)).toThrow("an address of this machine alone");
});

test.each(["https://storage.example/", "http://10.0.0.7/", "http://192.168.1.2/", "http://[2001:db8::1]/"])(
  "accepts %s",
  (url) => {
    expect(() => checkReach("remote", new URL(url).hostname)).not.toThrow();
  },
);

test.each([
  ["loopback", "http://127.0.0.1/", true],
  ["loopback", "http://localhost:5001/", true],
  ["loopback", "http://169.254.169.254/", false],
  ["loopback", "http://10.0.0.7/", false],
  ["remoteOrLoopback", "http://127.0.0.1/", true],
  ["remoteOrLoopback", "http://10.0.0.7/", true],
  ["remoteOrLoopback", "http://169.254.169.254/", false],
] as const)("%s includes %s: %s", (reach, url, allowed) => {
  const check = () => checkReach(reach, new URL(url).hostname);
  if (allowed) expect(check).not.toThrow();
  else expect(check).toThrow(/this machine alone|only to loopback/);
});

test("checks the addresses that a host name resolves to", async () => {
  const error = await new Promise((resolve) => lookupWithin("remote")("localhost", {}, resolve));
  expect(error).toMatchObject({ message: expect.stringContaining("an address of this machine alone") });
});
