import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer, request as httpsRequest } from "node:https";
import type { AddressInfo, Socket, Server as TcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { afterAll, afterEach, beforeAll } from "vitest";
import { builtInKinds } from "../../../../api/kinds/built-in-kinds.ts";
import type { Node, Pod } from "../../../../api/meta/objects.ts";
import { notFound, StatusError } from "../../../../api/meta/status-error.ts";
import { type AdmissionPlugin, createAdmissionChain } from "../../../admission/admission-chain.ts";
import { loadOrCreatePki, type Pki } from "../../../auth/pki/pki.ts";
import { createKindRegistry } from "../../../kinds/kind-registry.ts";
import { parseRequest } from "../../../request/request-info.ts";
import { createKubeletProxy, type KubeletProxyOptions } from "../kubelet-proxy.ts";

const kinds = createKindRegistry(builtInKinds);

export interface FakeKubelet {
  request?(request: IncomingMessage, response: ServerResponse): void;
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

interface World {
  readonly kubeletPort: number;
  readonly nodeName?: string;
  readonly kubelet?: Partial<KubeletProxyOptions["kubelet"]>;
  readonly plugins?: readonly AdmissionPlugin[];
  /** Called with the socket of each upgrade. */
  readonly onUpgrade?: (socket: Duplex) => void;
}

interface RequestOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

export interface KubeletProxyFixture {
  /** Certificate of the CA that signed the kubelet's certificate, and of one that did not. */
  ca(): string;
  makeOtherCa(): Promise<string>;
  /** Listens on a port of loopback until the end of the test. */
  listen(server: Server | TcpServer): Promise<number>;
  /** Starts an HTTPS server in place of the kubelet's. */
  startKubelet(kubelet: FakeKubelet): Promise<number>;
  /** Starts an HTTPS server with the proxy, as the API server does. */
  startApiServer(world: World): Promise<number>;
  /** Opens a request without ending it. */
  open(port: number, path: string, options?: RequestOptions): ReturnType<typeof httpsRequest>;
  get(
    port: number,
    path: string,
    options?: RequestOptions & { readonly body?: string },
  ): Promise<{ code: number | undefined; headers: IncomingMessage["headers"]; body: string }>;
  /** Sends an upgrade request over a socket, followed by bytes in the same write. */
  upgrade(port: number, path: string, options?: { headers?: string[]; early?: string }): UpgradedClient;
}

interface UpgradedClient {
  readonly socket: Duplex;
  readonly closed: Promise<void>;
  received(): string;
}

/** Fixture that is initialized before the first test. Connections are closed after each test. */
export function useKubeletProxy(): KubeletProxyFixture {
  let directory: string;
  let pki: Pki;
  const closers: (() => void)[] = [];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "kubelet-proxy-"));
    pki = await loadOrCreatePki({ directory, now: Date.now() });
  });
  afterAll(() => rm(directory, { recursive: true }));
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  async function listen(server: Server | TcpServer): Promise<number> {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => sockets.add(socket));
    closers.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return (server.address() as AddressInfo).port;
  }

  function open(port: number, path: string, options: RequestOptions = {}) {
    const target = { port, host: "127.0.0.1", path, agent: false, ca: pki.authority.cert };
    const request = httpsRequest({ ...target, ...options });
    request.on("error", () => {});
    closers.push(() => request.destroy());
    return request;
  }

  return {
    ca: () => pki.authority.cert,
    async makeOtherCa() {
      const other = await loadOrCreatePki({ directory: join(directory, "other"), now: Date.now() });
      return other.authority.cert;
    },
    listen,
    open,
    startKubelet({ request, upgrade }) {
      const tls = { cert: pki.serving.cert, key: pki.serving.key, ca: pki.authority.cert };
      const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, request);
      if (upgrade) server.on("upgrade", upgrade);
      return listen(server);
    },
    startApiServer: (world) => listen(createApiServer(pki, world)),
    async get(port, path, { body = "", ...options } = {}) {
      const request = open(port, path, options);
      request.end(body);
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return { code: response.statusCode, headers: response.headers, body: await text(response) };
    },
    upgrade(port, path, { headers = [], early = "" } = {}) {
      const socket = connect({ port, host: "127.0.0.1", ca: pki.authority.cert });
      closers.push(() => socket.destroy());
      const lines = ["Host: api", "Connection: Upgrade", "Upgrade: websocket", ...headers];
      socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${early}`);
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1");
      });
      return { socket, closed: closeOf(socket), received: () => received };
    },
  };
}

/** Resolves when the socket is closed, with or without an error. */
export function closeOf(socket: Duplex): Promise<void> {
  return new Promise((resolve) => socket.once("close", resolve));
}

function createApiServer(pki: Pki, world: World): Server {
  const { kubeletPort, nodeName = "n1", kubelet, plugins = [], onUpgrade } = world;
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "ns" },
    spec: { containers: [{ name: "a" }], nodeName },
  };
  const node: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1" },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
    },
  };
  const proxyFor = createKubeletProxy({
    kubelet: { ...pki.kubeletClient, allowLoopback: true, ...kubelet },
    admission: createAdmissionChain(plugins),
    getPod: async () => pod,
    getService: () => Promise.reject(notFound({ group: "", plural: "services" }, "web")),
    getEndpoints: () => Promise.reject(notFound({ group: "", plural: "endpoints" }, "web")),
    getNode: async (name) => {
      if (name !== "n1") throw notFound({ group: "", plural: "nodes" }, name);
      return node;
    },
  });
  const findProxy = (request: IncomingMessage) => {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const info = parseRequest(kinds, request.method ?? "GET", path, new URLSearchParams(query));
    const proxy = info && proxyFor(info, { username: "admin", groups: [], extra: {} });
    if (!proxy) throw new Error(`${path} is not proxied`);
    return { proxy, query: new URLSearchParams(query) };
  };
  const bodyOf = (error: unknown) =>
    JSON.stringify(error instanceof StatusError ? error.toStatus() : { message: `${error}`, code: 500 });
  const server = createServer(pki.serving, async (request, response) => {
    const { proxy, query } = findProxy(request);
    await proxy.request(request, response, query).catch((error) => {
      response.writeHead(error instanceof StatusError ? error.code : 500).end(bodyOf(error));
    });
  });
  server.on("upgrade", (request, socket, head) => {
    onUpgrade?.(socket);
    socket.on("error", () => {});
    findProxy(request)
      .proxy.upgrade(request, socket, head)
      .catch((error) => socket.end(`HTTP/1.1 ${error.code ?? 500} X\r\n\r\n${bodyOf(error)}`));
  });
  return server;
}
