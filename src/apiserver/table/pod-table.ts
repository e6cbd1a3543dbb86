import type { Pod } from "../../api/objects.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import { type PodSummary, summarizePod } from "./pod-summary.ts";
import {
  ageColumn,
  column,
  nameColumn,
  type RowCondition,
  type TableLayout,
  wideColumn,
} from "./table-layout.ts";

export const podTable: TableLayout<Pod> = {
  columns: [
    nameColumn,
    column("Ready", "Containers that are ready, of all that should be", formatReady),
    column("Status", "What the pod is doing, or what is in its way", (pod) => summaryOf(pod).reason),
    column("Restarts", "Restarts of its containers, and how long ago the last one was", formatRestarts),
    ageColumn,
    wideColumn("IP", "Address of the pod", ({ status }) => status?.podIPs?.[0]?.ip || "<none>"),
    wideColumn("Node", "Node that the pod is on", ({ spec }) => spec?.nodeName || "<none>"),
    wideColumn(
      "Nominated Node",
      "Node where room is being made for the pod",
      ({ status }) => status?.nominatedNodeName || "<none>",
    ),
    wideColumn("Readiness Gates", "Readiness gates that are met, of all", formatReadinessGates),
  ],
  conditions: ({ status }) => completions.get(status?.phase ?? ""),
};

const completions: ReadonlyMap<string, readonly RowCondition[]> = new Map([
  ["Succeeded", [completed("Succeeded", "The pod ended well.")]],
  ["Failed", [completed("Failed", "The pod failed.")]],
]);

function completed(reason: string, message: string): RowCondition {
  return { type: "Completed", status: "True", reason, message };
}

let last: { pod: Pod; summary: PodSummary } | undefined;

/** Three columns of a row come from one summary: it is kept until the next row. */
function summaryOf(pod: Pod): PodSummary {
  if (last?.pod !== pod) last = { pod, summary: summarizePod(pod) };
  return last.summary;
}

function formatReady(pod: Pod): string {
  const { readyContainers, totalContainers } = summaryOf(pod);
  return `${readyContainers}/${totalContainers}`;
}

function formatRestarts(pod: Pod, now: number): string {
  const { count, lastAt } = summaryOf(pod).restarts;
  return count > 0 && lastAt > 0 ? `${count} (${humanDuration(now - lastAt)} ago)` : `${count}`;
}

function formatReadinessGates({ spec, status }: Pod): string {
  const gates = spec?.readinessGates ?? [];
  if (gates.length === 0) return "<none>";
  const met = gates.filter(
    ({ conditionType }) => status?.conditions?.find(({ type }) => type === conditionType)?.status === "True",
  );
  return `${met.length}/${gates.length}`;
}
