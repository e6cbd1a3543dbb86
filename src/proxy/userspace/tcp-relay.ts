import { connect, createServer, type Socket } from "node:net";
import type { EndpointChooser } from "./choose-endpoint.ts";
import type { RelayListener } from "./relay-message.ts";

const connectTimeoutMs = 5_000;

interface Relay {
  update(listener: RelayListener): void;
  close(): Promise<void>;
}

/** Accepts TCP connections and joins each with a connection to an endpoint. */
export async function openTcpRelay(
  { host, port }: RelayListener,
  { chooser, accepts }: { readonly chooser: EndpointChooser; accepts(client: string): boolean },
): Promise<Relay> {
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) => {
    client.on("error", () => client.destroy());
    const name = client.remoteAddress ?? "";
    if (!accepts(name)) {
      client.resetAndDestroy();
      return;
    }
    attempt(client, chooser.choose(name, Date.now()), (endpoint) =>
      chooser.reached(name, endpoint, Date.now()),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 1_024 }, resolve);
  });
  return {
    // Connections to former endpoints end with those endpoints, as in the kernel.
    update() {},
    // Open connections continue.
    close: async () => void server.close(),
  };
}

type Endpoint = RelayListener["endpoints"][number];

/** Connects to the first endpoint that accepts the connection. */
function attempt(
  client: Socket,
  endpoints: readonly Endpoint[],
  reached: (endpoint: Endpoint) => void,
): void {
  const [endpoint, ...others] = endpoints;
  if (!endpoint || client.destroyed) {
    client.resetAndDestroy();
    return;
  }
  const server = connect({ host: endpoint.address, port: endpoint.port, allowHalfOpen: true, noDelay: true });
  const timer = setTimeout(() => server.destroy(new Error("timeout")), connectTimeoutMs);
  const fail = () => {
    clearTimeout(timer);
    attempt(client, others, reached);
  };
  server.once("error", fail);
  server.once("connect", () => {
    clearTimeout(timer);
    server.off("error", fail);
    reached(endpoint);
    join(client, server);
  });
}

/** Joins two sockets. Each direction ends alone, and an error of one side ends both. */
function join(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on("error", () => to.destroy());
    from.on("close", () => {
      if (!from.readableEnded) to.destroy();
    });
    from.pipe(to);
  }
  a.resume();
}
