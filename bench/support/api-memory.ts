import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { benchToken, createConfigMaps } from "./api-load.ts";
import { bundleProgram } from "./bundle-program.ts";
import { type ChildServer, startChildServer } from "./child-server.ts";
import { printTable } from "./print-table.ts";

interface MemoryBench {
  /** Starts a new API server; the name must be unique. */
  startServer(name: string): Promise<ChildServer>;
  /** Directory with the certificate of the bare server. */
  readonly pkiDir: string;
  readonly watches: number;
  onProgress(line: string): void;
}

const configMaps = "/api/v1/namespaces/default/configmaps";
/** Fifteen objects of 100 kB. */
const namespaceObjects = { count: 15, bytes: 100_000 };
/** Forty objects of 900 kB. */
const listObjects = { count: 40, bytes: 900_000 };
const unreadLists = 80;
/** Time for garbage collection. */
const settleMs = 20_000;

interface Memory {
  readonly idle: number;
  readonly open: number;
  readonly closed: number;
}

/** Measures resident memory with open and with unread responses. */
export async function measureMemory(bench: MemoryBench): Promise<void> {
  const bareServer = await bundleProgram("open-response-server");
  const client = await bundleProgram("open-responses-client");

  async function measure(
    server: ChildServer,
    path: string,
    { count, bytes }: { count: number; bytes: number },
  ): Promise<Memory> {
    const idle = server.residentMegabytes();
    const args = [client, `${server.url}${path}`, benchToken, String(count), String(bytes)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const exit = once(child, "exit");
    const opened = await Promise.race([once(child.stdout, "data").then(() => true), exit.then(() => false)]);
    if (!opened) throw new Error(`the clients of ${server.url}${path} failed`);
    await delay(bytes === 0 ? 2_000 : settleMs);
    const open = server.residentMegabytes();
    child.kill();
    await exit;
    await delay(settleMs);
    const closed = server.residentMegabytes();
    await server.stop();
    return { idle, open, closed };
  }

  const watches: [string, Memory][] = [];
  for (const [name, objects] of [
    ["a namespace of few bytes", { count: 0, bytes: 0 }],
    ["a namespace of 1.5 MB", namespaceObjects],
  ] as const) {
    const bytes = objects.count * objects.bytes;
    const ours = await bench.startServer(`watches-${bytes}`);
    await createConfigMaps(ours.url, objects);
    bench.onProgress(`watches of ${name}`);
    const reading = { count: bench.watches, bytes: Math.max(bytes, 1) };
    watches.push([name, await measure(ours, `${configMaps}?watch=true`, reading)]);
    const bare = await startChildServer(bareServer, [bench.pkiDir, String(bytes)]);
    bench.onProgress(`bare responses beside ${name}`);
    watches.push([
      `bare Node https, ${bytes === 0 ? "headers only" : "as many bytes"}`,
      await measure(bare, "/", reading),
    ]);
  }

  const growth = ({ idle, open }: Memory) => open - idle;
  const rows = watches.map(([name, memory], i) => {
    const bare = watches[i % 2 === 0 ? i + 1 : i]?.[1] ?? memory;
    return [
      name,
      ...[memory.idle, memory.open, memory.closed].map((megabytes) => `${megabytes.toFixed(0)} MB`),
      `${((1_024 * growth(memory)) / bench.watches).toFixed(1)} KiB`,
      `${(growth(memory) / growth(bare)).toFixed(2)}x`,
      i % 2 === 0 ? "1.3x" : "",
    ];
  });
  printTable(
    [`${bench.watches} open responses`, "before", "open", "closed", "each", "of bare", "target"],
    rows,
  );

  const listed = await bench.startServer("unread-lists");
  await createConfigMaps(listed.url, listObjects);
  bench.onProgress(`${unreadLists} lists that are not read`);
  const lists = await measure(listed, configMaps, { count: unreadLists, bytes: 0 });
  const listMegabytes = (listObjects.count * listObjects.bytes) / 1e6;
  printTable(
    ["", "before", "unread", "closed"],
    [
      [
        `${unreadLists} unread lists of ${listMegabytes} MB`,
        ...[lists.idle, lists.open, lists.closed].map((megabytes) => `${megabytes.toFixed(0)} MB`),
      ],
    ],
  );
}
