import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { type Stage, stages } from "../view/stages.ts";
import { type Summary, summarize } from "./quantile.ts";

export const classes = ["namespace", "owner", "runtimeClass", "storageClass", "node"] as const;
export type ClassName = (typeof classes)[number];

export const durationMs = ({ createdMs, readyMs }: FinishedView) => Math.max(0, readyMs - createdMs);

/** A pod with claims of several StorageClasses belongs to each of them. */
export function classesOf(start: FinishedView, by: ClassName): readonly string[] {
  switch (by) {
    case "namespace":
      return [start.namespace];
    case "owner":
      return [`${start.namespace}/${start.owner}`];
    case "runtimeClass":
      return [start.runtimeClass || "(default)"];
    case "storageClass":
      return start.storageClasses.length > 0 ? start.storageClasses : ["(no claims)"];
    case "node":
      return [start.node ?? "(unknown)"];
  }
}

export function slowestStage({ stages: lengths }: FinishedView): Stage | undefined {
  return longest((stage) => lengths[stage]);
}

function longest(length: (stage: Stage) => number | undefined): Stage | undefined {
  return stages.reduce<Stage | undefined>((slowest, stage) => {
    const seconds = length(stage);
    if (seconds === undefined) return slowest;
    return slowest === undefined || seconds > (length(slowest) ?? 0) ? stage : slowest;
  }, undefined);
}

export interface Group extends Summary {
  readonly name: string;
  /** Median of each stage in milliseconds; stages without starts are omitted. */
  readonly stages: Partial<Record<Stage, number>>;
  /** Stage with the largest total duration. */
  readonly slowest: Stage | undefined;
}

export function groupStarts(starts: readonly FinishedView[], by: ClassName): readonly Group[] {
  const groups = new Map<string, FinishedView[]>();
  for (const start of starts) {
    for (const name of classesOf(start, by)) {
      const group = groups.get(name);
      if (group) group.push(start);
      else groups.set(name, [start]);
    }
  }
  return [...groups]
    .map(([name, own]) => summarizeGroup(name, own))
    .sort((a, b) => (b.p90 ?? 0) - (a.p90 ?? 0));
}

export function summarizeGroup(name: string, starts: readonly FinishedView[]): Group {
  const medians: Partial<Record<Stage, number>> = {};
  for (const [stage, { p50 }] of summarizeStages(starts)) medians[stage] = p50;
  const spent = (stage: Stage) =>
    stage in medians ? starts.reduce((sum, { stages: own }) => sum + (own[stage] ?? 0), 0) : undefined;
  return { name, ...summarize(starts.map(durationMs)), stages: medians, slowest: longest(spent) };
}

/** Medians of the known stages, in milliseconds. */
export function summarizeStages(starts: readonly FinishedView[]): ReadonlyMap<Stage, Summary> {
  return new Map(
    stages.flatMap((stage) => {
      const lengths = starts.flatMap(({ stages: own }) => own[stage] ?? []).map((seconds) => seconds * 1_000);
      return lengths.length > 0 ? [[stage, summarize(lengths)] as const] : [];
    }),
  );
}
