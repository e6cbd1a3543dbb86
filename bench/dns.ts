// Measures the DNS server beside a bare echo in Node.js and dnsmasq: npm run bench -- dns [--services 1000] [--rounds 5] [--seconds 2]
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findProgram } from "../src/runtime/drivers/find-program.ts";
import { bundleProgram } from "./support/bundle-program.ts";
import { costOf } from "./support/child-process.ts";
import { measureChanges } from "./support/dns-change.ts";
import { droppedAt, makeQueries, measureLatency, measureRate } from "./support/dns-load.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({
  options: {
    services: { type: "string", default: "1000" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
  },
});
const services = Number(args.services);
const seconds = Number(args.seconds);
const outstanding = 64;
const steadyRate = 5_000;
const asked = { shareOfEcho: 0.5, p99Ms: 5 };

interface Contestant {
  readonly name: string;
  readonly port: number;
  readonly child: ChildProcess;
  readonly rates: number[];
  /** Responses per second of the server's CPU time: the rate on one core that does nothing else. */
  readonly perCpuSecond: number[];
  readonly p50: number[];
  readonly p99: number[];
  /** Queries of the latency measurement without a response. */
  lost: number;
  /** Those that the server's socket had no room for. */
  dropped: number;
}

const directory = await mkdtemp(join(tmpdir(), "kindling-bench-dns-"));
const program = await bundleProgram("dns-contestant");
const contestants: Contestant[] = [];

async function startNode(name: string, kind: string): Promise<void> {
  const child = spawn(process.execPath, [program, kind, String(services)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  add(name, Number(String(line)), child);
}

async function startDnsmasq(): Promise<void> {
  const dnsmasq = findProgram("dnsmasq");
  if (!dnsmasq) return console.log("dnsmasq is not measured: apt-get install dnsmasq-base");
  const hosts = join(directory, "hosts");
  const line = (i: number) => `10.96.${i >> 8}.${i & 255} service-${i}.bench.svc.cluster.local\n`;
  await writeFile(hosts, Array.from({ length: services }, (_, i) => line(i)).join(""));
  const port = await freePort();
  const flags = ["--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root", "--conf-file=/dev/null"];
  const at = [`--addn-hosts=${hosts}`, `--port=${port}`, "--listen-address=127.0.0.1", "--bind-interfaces"];
  const child = spawn(dnsmasq, [...flags, ...at, "--pid-file="], { stdio: "inherit" });
  await new Promise((resolve) => setTimeout(resolve, 500));
  add("dnsmasq", port, child);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}

function add(name: string, port: number, child: ChildProcess): void {
  contestants.push({ name, port, child, rates: [], perCpuSecond: [], p50: [], p99: [], lost: 0, dropped: 0 });
}

try {
  await startNode("dgram echo", "echo");
  await startNode("kindling dns", "kindling");
  await startDnsmasq();
  const queries = makeQueries(services);
  for (const { port } of contestants) await measureRate({ port, queries, seconds: 1 }, outstanding);
  for (let round = 0; round < Number(args.rounds); round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const contestant = contestants[(turn + round) % contestants.length];
      if (!contestant) continue;
      const { port, child } = contestant;
      const { cpuSeconds } = costOf(child.pid ?? 0);
      const before = cpuSeconds();
      const rate = await measureRate({ port, queries, seconds }, outstanding);
      contestant.rates.push(rate);
      contestant.perCpuSecond.push((rate * seconds) / (cpuSeconds() - before));
      const droppedBefore = droppedAt(port);
      const { sortedMs, lost } = await measureLatency({ port, queries, seconds }, steadyRate);
      contestant.p50.push(sortedMs[Math.floor(sortedMs.length * 0.5)] ?? Number.NaN);
      contestant.p99.push(sortedMs[Math.floor(sortedMs.length * 0.99)] ?? Number.NaN);
      contestant.lost += lost;
      contestant.dropped += droppedAt(port) - droppedBefore;
    }
  }
  const echo = median(contestants[0]?.perCpuSecond ?? []);
  printTable(
    [
      "server",
      "queries/s",
      "queries per CPU second",
      "of the echo",
      "p50 ms",
      "p99 ms",
      "lost",
      "by its socket",
      "MB",
    ],
    contestants.map(({ name, rates, perCpuSecond, p50, p99, lost, dropped, child }) => [
      name,
      median(rates).toFixed(0),
      median(perCpuSecond).toFixed(0),
      `${((100 * median(perCpuSecond)) / echo).toFixed(0)} %`,
      median(p50).toFixed(2),
      median(p99).toFixed(2),
      String(lost),
      String(dropped),
      costOf(child.pid ?? 0)
        .residentMegabytes()
        .toFixed(0),
    ]),
  );
  const changes = await measureChanges(100);
  const slowest = Math.max(...changes).toFixed(1);
  console.log(
    `\nchange of endpoints to its response: ${median(changes).toFixed(1)} ms, at most ${slowest} ms of 100 (target: 100 ms)`,
  );
  const [load = 0] = loadavg();
  console.log(
    `\nlatency at ${steadyRate} queries/s; load ${load.toFixed(1)}; target: ${asked.shareOfEcho * 100} % of the echo's rate on one core, p99 under ${asked.p99Ms} ms`,
  );
} finally {
  for (const { child } of contestants) child.kill();
  await rm(directory, { recursive: true, force: true });
}
