import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { readCredentials } from "./api-server.ts";

interface Address {
  readonly url: string;
  readonly kubeconfig: string;
}

/** A TLS connection with the administrator's credentials that is closed with the test. */
export async function dialServer(server: Address): Promise<TLSSocket> {
  const { hostname, port } = new URL(server.url);
  const credentials = await readCredentials(server.kubeconfig);
  const socket = connect({ host: hostname, port: Number(port), ...credentials });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  socket.on("error", () => {});
  return socket;
}

/** Sends so many GETs, each on its own connection, and reads no more than the first bytes of each response. */
export async function openUnread(server: Address, path: string, count: number): Promise<TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = await dialServer(server);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, "data");
    socket.pause();
    sockets.push(socket);
  }
  return sockets;
}

/** The value of a metric, by its name and labels as they stand in the text. */
export async function readMetric(
  server: { call(method: string, path: string): Promise<{ text: string }> },
  name: string,
): Promise<number> {
  const { text } = await server.call("GET", "/metrics");
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? Number.NaN);
}
