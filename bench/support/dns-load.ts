import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { encode } from "dns-packet";

/** Queries for the A records of the synthetic services, each without its ID. */
export function makeQueries(services: number): Buffer[] {
  return Array.from({ length: services }, (_, i) =>
    encode({
      type: "query",
      id: 0,
      flags: 0x100,
      questions: [{ name: `service-${i}.bench.svc.cluster.local`, type: "A" }],
    }),
  );
}

interface Load {
  readonly port: number;
  readonly queries: readonly Buffer[];
  readonly seconds: number;
}

/** Keeps `outstanding` queries in flight. Returns the number of responses per second. */
export async function measureRate({ port, queries, seconds }: Load, outstanding: number): Promise<number> {
  const socket = await connect(port);
  let next = 0;
  let responses = 0;
  const send = (id: number) => {
    const query = Buffer.from(queries[next++ % queries.length] ?? Buffer.alloc(0));
    query.writeUInt16BE(id, 0);
    socket.send(query);
  };
  let last = performance.now();
  socket.on("message", (message) => {
    responses++;
    last = performance.now();
    send(message.readUInt16BE(0));
  });
  // Datagrams that were lost would leave the server idle.
  const refill = setInterval(() => {
    if (performance.now() - last > 100) for (let id = 0; id < outstanding; id++) send(id);
  }, 50);
  const startedAt = performance.now();
  for (let id = 0; id < outstanding; id++) send(id);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const rate = responses / ((performance.now() - startedAt) / 1_000);
  clearInterval(refill);
  socket.close();
  return rate;
}

/** Sends a fixed number of queries per second. Returns the latencies in milliseconds, sorted, and the losses. */
export async function measureLatency(
  { port, queries, seconds }: Load,
  perSecond: number,
): Promise<{ readonly sortedMs: readonly number[]; readonly lost: number }> {
  const socket = await connect(port);
  const sentAt = new Float64Array(65_536);
  const latencies: number[] = [];
  socket.on("message", (message) => {
    const id = message.readUInt16BE(0);
    const at = sentAt[id] ?? 0;
    if (at > 0) latencies.push(performance.now() - at);
    sentAt[id] = 0;
  });
  const total = perSecond * seconds;
  const startedAt = performance.now();
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - startedAt) / 1_000) * perSecond));
    for (; sent < due; sent++) {
      const id = sent & 0xffff;
      const query = Buffer.from(queries[sent % queries.length] ?? Buffer.alloc(0));
      query.writeUInt16BE(id, 0);
      sentAt[id] = performance.now();
      socket.send(query);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  socket.close();
  return { sortedMs: latencies.sort((a, b) => a - b), lost: total - latencies.length };
}

/** Number of datagrams that the kernel dropped because the socket at this port was full. */
export function droppedAt(port: number): number {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const lines = readFileSync("/proc/net/udp", "utf8").split("\n");
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1] === address)
    .reduce((sum, fields) => sum + Number(fields.at(-1)), 0);
}

async function connect(port: number) {
  const socket = createSocket({ type: "udp4", recvBufferSize: 4 * 1_024 * 1_024 });
  const connected = once(socket, "connect");
  socket.connect(port, "127.0.0.1");
  await connected;
  return socket;
}
