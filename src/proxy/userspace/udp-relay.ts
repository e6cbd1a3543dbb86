import { createSocket, type Socket } from "node:dgram";
import type { EndpointChooser } from "./choose-endpoint.ts";
import type { RelayListener } from "./relay-message.ts";

/** Time without packets after which a client's session ends. */
const idleMs = 60_000;
/** Maximum number of sessions of one listener: each has a socket. */
const maxSessions = 4_000;

interface Session {
  readonly socket: Socket;
  readonly client: string;
  readonly endpoint: string;
  timer: NodeJS.Timeout;
}

interface Relay {
  update(listener: RelayListener): void;
  close(): Promise<void>;
}

/** Receives UDP packets and sends them to an endpoint, from one socket for each client. */
export async function openUdpRelay(
  { host, port }: RelayListener,
  { chooser, accepts }: { readonly chooser: EndpointChooser; accepts(client: string): boolean },
): Promise<Relay> {
  const type = host.includes(":") ? "udp6" : "udp4";
  const server = createSocket(type);
  const sessions = new Map<string, Session>();

  function end(key: string): void {
    const session = sessions.get(key);
    if (!session) return;
    sessions.delete(key);
    clearTimeout(session.timer);
    session.socket.close();
  }

  function open(
    key: string,
    client: { readonly address: string; readonly port: number },
  ): Session | undefined {
    if (!accepts(client.address)) return undefined;
    const [endpoint] = chooser.choose(client.address, Date.now());
    if (!endpoint || sessions.size >= maxSessions) return undefined;
    const socket = createSocket(endpoint.address.includes(":") ? "udp6" : "udp4");
    const session: Session = {
      socket,
      client: client.address,
      endpoint: `${endpoint.address} ${endpoint.port}`,
      timer: setTimeout(() => end(key), idleMs),
    };
    sessions.set(key, session);
    socket.on("error", () => end(key));
    socket.on("message", (message) => {
      session.timer.refresh();
      server.send(message, client.port, client.address);
    });
    socket.connect(endpoint.port, endpoint.address);
    chooser.reached(client.address, endpoint, Date.now());
    return session;
  }

  server.on("message", (message, client) => {
    const key = `${client.address} ${client.port}`;
    const known = sessions.get(key);
    const session = known ?? open(key, client);
    if (!session) return;
    session.timer.refresh();
    const send = () => session.socket.send(message, (error) => error && end(key));
    if (known) send();
    else session.socket.once("connect", send);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.bind({ port, address: host }, resolve);
  });
  server.on("error", () => {});
  return {
    update({ endpoints }) {
      const kept = new Set(endpoints.map((endpoint) => `${endpoint.address} ${endpoint.port}`));
      for (const [key, { endpoint, client }] of sessions)
        if (!kept.has(endpoint) || !accepts(client)) end(key);
    },
    async close() {
      for (const key of [...sessions.keys()]) end(key);
      await new Promise<void>((resolve) => server.close(resolve));
    },
  };
}
