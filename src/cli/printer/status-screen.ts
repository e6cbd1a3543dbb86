import type { UpRecord } from "../../cluster/data-dir/data-dir-files.ts";
import type { ClusterStatus, Workload } from "../../cluster/lifecycle/cluster-status.ts";
import { formatBytes } from "../../lib/format-bytes.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import { type Paint, painter, plural, printable, type Tone } from "./terminal-text.ts";

/** Maximum number of nodes to list. Of more nodes, only those that are not ready are listed. */
const maxNodes = 8;
const maxContainers = 10;

/** Renders the status of a cluster: whether it is running, its address, nodes and pods, and remaining containers. */
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
    if (problem) add("problem", paint("red", `the API server does not respond: ${printable(problem)}`));
    if (status.state === "stopped" && containers.length > 0) {
      lines.push(
        "",
        paint(
          "yellow",
          `${plural(containers.length, "container")} ${containers.length === 1 ? "is" : "are"} still running, although the cluster is stopped:`,
        ),
      );
      for (const { name, id, pid } of containers.slice(0, maxContainers))
        lines.push(`  ${name || id} (pid ${pid})`);
      if (containers.length > maxContainers) lines.push(`  and ${containers.length - maxContainers} more`);
    }
  }
  const hint = hintFor(status, isRoot);
  if (hint) lines.push("", hint);
  return `${lines.join("\n")}\n`;
}

/** Status of a cluster for `-o json`. */
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
      const what = state === "running" ? "is running" : "is starting";
      return `${paint(tone, "●")} The cluster ${what} (pid ${up?.process.pid}, for ${age})`;
    }
    case "stopped":
      return `${paint("yellow", "○")} The cluster in ${dataDir} is not running`;
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
  if (refused) return `This version of Kindling cannot use it: ${printable(refused)}`;
  const where = `--data-dir ${dataDir}`;
  switch (state) {
    case "missing":
      return `To start one: kindling up ${where}${isRoot ? "" : "\nFor a cluster that was started with sudo: sudo kindling status"}`;
    case "stopped":
      return containers.length > 0
        ? `To start it again: kindling up ${where}. To stop the containers: kindling down --containers ${where}`
        : `To start it again: kindling up ${where}. To remove it: kindling reset ${where}`;
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
  const named = nodes.length <= maxNodes ? nodes : nodes.filter((node) => !node.ready).slice(0, maxNodes);
  for (const node of named)
    add("", `${node.name} ${node.ready ? paint("green", "Ready") : paint("red", "NotReady")}`);
  const phases = Object.entries(pods.byPhase)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([phase, count]) => paint(tones[phase] ?? "bold", `${count} ${printable(phase)}`));
  add("pods", phases.length > 0 ? phases.join(", ") : "none");
  if (pods.starting > 0)
    add(
      "",
      `${paint("yellow", `${pods.starting} starting`)}: kindling why POD shows what a pod is waiting for`,
    );
}

const tones: Readonly<Record<string, Tone>> = {
  Running: "green",
  Succeeded: "green",
  Pending: "yellow",
  Failed: "red",
  Unknown: "red",
};

/** Name of the runtime: the selected one, or before the start the requested one. */
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
