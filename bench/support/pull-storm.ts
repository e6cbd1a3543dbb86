import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "../../src/client/api/create-client.ts";
import { loadKubeconfig } from "../../src/client/kubeconfig/cluster-access.ts";
import { costOf, type ProcessCost } from "./child-process.ts";
import { createLeanTransport } from "./lean-transport.ts";
import { type StormCounts, type StormNodes, startStormNodes } from "./storm-nodes.ts";

interface Storm {
  readonly kubeconfig: string;
  readonly nodes: number;
  readonly pullsPerNode: number;
  readonly reportSeconds: number;
  readonly processes: number;
  /** Connections shared by the nodes of a process. */
  readonly connections: number;
}

/** Options of a process that simulates nodes. */
type Part = Omit<StormNodes, "client"> & Pick<Storm, "kubeconfig" | "connections">;

export interface RunningStorm extends ProcessCost {
  readonly counts: () => StormCounts;
  /** Starts the progress reports of the runtimes. */
  report(): void;
  stop(): Promise<void>;
}

/** Heap limit: a pull takes 11 kB, so 300,000 of them exceed Node's default. */
const heapMegabytes = 8_192;

/** Starts processes that simulate nodes. Each runs this program with its options as the only argument. */
export function startPullStorm(program: string, storm: Storm): RunningStorm {
  const { nodes, processes, ...common } = storm;
  const players = Array.from({ length: processes }, (_, i) => {
    const first = (share: number) => Math.round((share * nodes) / processes);
    return startPlayer(program, { ...common, from: first(i), to: first(i + 1) });
  });
  const sum = (of: (player: (typeof players)[number]) => number) =>
    players.reduce((total, player) => total + of(player), 0);
  return {
    counts: () => ({
      written: sum(({ counts }) => counts().written),
      progress: sum(({ counts }) => counts().progress),
      dropped: sum(({ counts }) => counts().dropped),
    }),
    cpuSeconds: () => sum((player) => player.cpuSeconds()),
    residentMegabytes: () => sum((player) => player.residentMegabytes()),
    report: () => players.forEach(({ report }) => void report()),
    stop: async () => void (await Promise.all(players.map(({ stop }) => stop()))),
  };
}

function startPlayer(program: string, part: Part) {
  const execArgv = [...process.execArgv, `--max-old-space-size=${heapMegabytes}`];
  const child: ChildProcess = fork(program, ["--play", JSON.stringify(part)], { execArgv });
  let latest: StormCounts = { written: 0, progress: 0, dropped: 0 };
  child.on("message", (counts: StormCounts) => {
    latest = counts;
  });
  return {
    ...costOf(child.pid ?? 0),
    counts(): StormCounts {
      const end = child.exitCode ?? child.signalCode;
      if (end !== null) throw new Error(`a process that simulates nodes exited with ${end}`);
      return latest;
    },
    report: () => child.send("report"),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Runs in the child process: simulates nodes until the parent stops it or exits. */
export async function playNodes(argument: string): Promise<void> {
  const exitWithoutParent = (error: Error | null) => void (error && process.exit());
  process.on("disconnect", () => process.exit());
  const { kubeconfig, connections, ...part }: Part = JSON.parse(argument);
  const access = await loadKubeconfig(kubeconfig);
  const client = createClient({ transport: createLeanTransport(access, connections) });
  const nodes = await startStormNodes({ ...part, client });
  process.on("message", nodes.report);
  for (;;) {
    process.send?.(nodes.counts(), undefined, undefined, exitWithoutParent);
    await delay(200);
  }
}
