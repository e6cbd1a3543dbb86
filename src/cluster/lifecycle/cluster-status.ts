import { isReady } from "../../api/meta/object-facts.ts";
import type { Node, Pod } from "../../api/meta/objects.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import { connectCluster } from "../../client/api/create-client.ts";
import { messageOf } from "../../lib/message-of.ts";
import { diskUsage } from "../../runtime/images/images.ts";
import { decideVersion, findVersion } from "../data-dir/check-version.ts";
import { isRunning, readUpRecord, type UpRecord } from "../data-dir/data-dir-files.ts";
import { type RunningContainer, runningContainers } from "../host/running-containers.ts";
import { whatIsThere } from "./reset-data-dir.ts";

/** State of a cluster as reported by its API. */
export interface Workload {
  readonly nodes: readonly { readonly name: string; readonly ready: boolean }[];
  readonly pods: {
    readonly total: number;
    readonly byPhase: Readonly<Record<string, number>>;
    /** Pods that are neither ready nor terminated. */
    readonly starting: number;
  };
}

export interface ClusterStatus {
  readonly dataDir: string;
  /** `stopped`: data without a running `up`. `missing`: no data. */
  readonly state: "running" | "starting" | "stopped" | "missing" | "foreign";
  readonly up?: UpRecord;
  readonly workload?: Workload;
  /** Reason why the API of a running cluster did not respond. */
  readonly problem?: string;
  /** Reason why this version cannot use the data. */
  readonly refused?: string;
  readonly containers: readonly RunningContainer[];
  readonly diskBytes: number;
}

const apiTimeoutMs = 5_000;

export async function clusterStatus(dataDir: string): Promise<ClusterStatus> {
  const there = await whatIsThere(dataDir);
  if (there !== "cluster") return { dataDir, state: there, containers: [], diskBytes: 0 };
  const version = decideVersion(await findVersion(dataDir));
  const refused = version.kind === "reject" && { refused: version.why };
  const up = await readUpRecord(dataDir);
  const running = isRunning(up);
  const state = running ? (up.serving ? "running" : "starting") : "stopped";
  const [containers, { usedBytes }, answer] = await Promise.all([
    runningContainers(dataDir),
    diskUsage(dataDir),
    running && up.serving ? askApi(up.serving.kubeconfig) : {},
  ]);
  return { dataDir, state, ...(up && { up }), ...answer, ...refused, containers, diskBytes: usedBytes };
}

async function askApi(kubeconfig: string): Promise<Pick<ClusterStatus, "workload" | "problem">> {
  try {
    const client = await connectCluster({ kubeconfig, userAgent: "kindling-status" });
    try {
      const signal = AbortSignal.timeout(apiTimeoutMs);
      const [nodes, pods] = await Promise.all([
        client.list("nodes", { signal }),
        client.list("pods", { signal }),
      ]);
      return { workload: summarize(nodes.items, pods.items) };
    } finally {
      client.close();
    }
  } catch (error) {
    return { problem: messageOf(error) };
  }
}

/** Exported for tests. */
export function summarize(nodes: readonly Node[], pods: readonly Pod[]): Workload {
  const byPhase: Record<string, number> = {};
  for (const { status } of pods) {
    const phase = status?.phase ?? "Unknown";
    byPhase[phase] = (byPhase[phase] ?? 0) + 1;
  }
  const starting = pods.filter((pod) => !hasEnded(pod) && !pod.metadata.deletionTimestamp && !isReady(pod));
  return {
    nodes: nodes
      .map((node) => ({ name: node.metadata.name ?? "", ready: isReady(node) }))
      .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
    pods: { total: pods.length, byPhase, starting: starting.length },
  };
}
