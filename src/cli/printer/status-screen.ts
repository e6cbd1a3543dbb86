import type { ClusterStatus, Workload } from "../../cluster/cluster-status.ts";
import type { UpRecord } from "../../cluster/data-dir/up-record.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import { formatBytes } from "./bytes.ts";
import { plural } from "./plural.ts";
import { type Paint, painter, printable, type Tone } from "./terminal-text.ts";

/** Nodes shown by name; of more, only those that are not ready. */
const mostNodes = 8;
const mostContainers = 10;

/** One screen about a cluster: does it run, where, what is in it, what is left of it. */
export function renderStatus(
  status: ClusterStatus,
  { color, now, isRoot }: { readonly color: boolean; readonly now: number; readonly isRoot: boolean },
): string {
  const paint = painter(color);
  const { dataDir, up, workload, problem, containers, diskBytes } = status;
  const lines = [headline(status, { paint, now })];
  const add = (label: string, value: string) => lines.push(`  ${paint("dim", label.padEnd(11))} ${value}`);
  if (status.state !== "missing" && status.state !== "foreign") {
    lines.push("");
    if (status.state === "running" && up?.serving) {
      add("url", up.serving.url);
      add("kubeconfig", up.serving.kubeconfig);
      if (up.serving.dashboard) add("dashboard", up.serving.dashboard);
    }
    add("data", `${dataDir} (${formatBytes(diskBytes)})`);
    if (up) {
      add("version", up.version);
      add("store", up.store);
      add("runtime", printable(runtimeName(up)));
    }
    if (workload) addWorkload(workload, { paint, add });
    if (problem) add("problem", paint("red", `the API does not answer: ${printable(problem)}`));
    if (status.state === "stopped" && containers.length > 0) {
      lines.push(
        "",
        paint(
          "yellow",
          `${plural(containers.length, "container")} still run${containers.length === 1 ? "s" : ""}, though the cluster is down:`,
        ),
      );
      for (const { name, id, pid } of containers.slice(0, mostContainers))
        lines.push(`  ${name || id} (pid ${pid})`);
      if (containers.length > mostContainers) lines.push(`  and ${containers.length - mostContainers} more`);
    }
  }
  const hint = hintFor(status, isRoot);
  if (hint) lines.push("", hint);
  return `${lines.join("\n")}\n`;
}

/** The same as data. */
export function statusJson(status: ClusterStatus) {
  const { dataDir, state, up, workload, problem, refused, containers, diskBytes } = status;
  const { runtimeName: _, ...serving } = up?.serving ?? {};
  return {
    dataDir,
    state,
    ...(up && {
      ...(state === "running" || state === "starting" ? { pid: up.process.pid } : {}),
      ...(state === "running" && serving),
      version: up.version,
      store: up.store,
      runtime: runtimeName(up),
      ephemeral: up.ephemeral,
      startedAt: new Date(up.startedAt).toISOString(),
    }),
    ...workload,
    ...(problem && { problem }),
    ...(refused && { refused }),
    containers,
    diskBytes,
  };
}

function headline(
  { state, dataDir, up }: ClusterStatus,
  { paint, now }: { readonly paint: Paint; readonly now: number },
): string {
  switch (state) {
    case "running":
    case "starting": {
      const age = humanDuration(Math.max(0, now - (up?.startedAt ?? now)));
      const tone: Tone = state === "running" ? "green" : "yellow";
      const what = state === "running" ? "runs" : "is starting";
      return `${paint(tone, "●")} The cluster ${what} (pid ${up?.process.pid}, for ${age})`;
    }
    case "stopped":
      return `${paint("yellow", "○")} The cluster in ${dataDir} does not run`;
    case "missing":
      return `${paint("dim", "○")} There is no cluster in ${dataDir}`;
    case "foreign":
      return `${paint("red", "○")} ${dataDir} is not the data directory of a cluster`;
  }
}

function hintFor(
  { state, dataDir, refused, containers }: ClusterStatus,
  isRoot: boolean,
): string | undefined {
  if (refused) return `This version cannot go on with it: ${printable(refused)}`;
  const where = `--data-dir ${dataDir}`;
  switch (state) {
    case "missing":
      return `Start one: kindling up ${where}${isRoot ? "" : "\nOne that was started with sudo is root's: sudo kindling status"}`;
    case "stopped":
      return containers.length > 0
        ? `Go on with it: kindling up ${where}. End them: kindling down --containers ${where}`
        : `Go on with it: kindling up ${where}. Remove it: kindling reset ${where}`;
    default:
      return undefined;
  }
}

function addWorkload(
  { nodes, pods }: Workload,
  { paint, add }: { readonly paint: Paint; add(label: string, value: string): void },
): void {
  const ready = nodes.filter((node) => node.ready).length;
  add("nodes", paint(ready === nodes.length ? "green" : "red", `${ready} of ${nodes.length} ready`));
  const named = nodes.length <= mostNodes ? nodes : nodes.filter((node) => !node.ready).slice(0, mostNodes);
  for (const node of named)
    add("", `${node.name} ${node.ready ? paint("green", "Ready") : paint("red", "NotReady")}`);
  const phases = Object.entries(pods.byPhase)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([phase, count]) => paint(tones[phase] ?? "bold", `${count} ${printable(phase)}`));
  add("pods", phases.length > 0 ? phases.join(", ") : "none");
  if (pods.starting > 0)
    add("", `${paint("yellow", `${pods.starting} starting`)}: kindling why POD says what each waits for`);
}

const tones: Readonly<Record<string, Tone>> = {
  Running: "green",
  Succeeded: "green",
  Pending: "yellow",
  Failed: "red",
  Unknown: "red",
};

/** What it turned out to be; what was asked for as long as nothing has started. */
function runtimeName({ serving, runtime }: UpRecord): string {
  if (serving?.runtimeName) return serving.runtimeName;
  switch (runtime.kind) {
    case "own":
      return runtime.driver;
    case "simulated":
      return "simulated";
    case "endpoint":
      return runtime.endpoint;
  }
}
