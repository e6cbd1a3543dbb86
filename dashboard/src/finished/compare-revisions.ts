import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { type Stage, stageLabels, stages } from "../view/stages.ts";
import { durationMs, summarizeStages } from "./group-starts.ts";
import { type Summary, summarize } from "./quantile.ts";

export interface Workload {
  /** `namespace/Kind/name`. */
  readonly key: string;
  /** Revisions, the newest first. */
  readonly revisions: readonly string[];
}

/** Workloads with starts of at least two revisions, by name. */
export function comparableWorkloads(starts: readonly FinishedView[]): readonly Workload[] {
  const newest = new Map<string, Map<string, number>>();
  for (const start of starts) {
    if (!start.revision) continue;
    const key = workloadKey(start);
    const revisions = newest.get(key) ?? new Map<string, number>();
    newest.set(key, revisions);
    revisions.set(start.revision, Math.max(start.createdMs, revisions.get(start.revision) ?? 0));
  }
  return [...newest]
    .filter(([, revisions]) => revisions.size > 1)
    .map(([key, revisions]) => ({
      key,
      revisions: [...revisions].sort(([, a], [, b]) => b - a).map(([revision]) => revision),
    }))
    .sort((a, b) => a.key.localeCompare(b.key));
}

const workloadKey = ({ namespace, owner }: FinishedView) => `${namespace}/${owner}`;

export interface ComparedStage {
  readonly stage: Stage | "total";
  readonly label: string;
  readonly before: Summary;
  readonly after: Summary;
}

/** Compares the total duration and each stage. */
export function compareRevisions(
  starts: readonly FinishedView[],
  { workload, before, after }: { readonly workload: string; readonly before: string; readonly after: string },
): readonly ComparedStage[] {
  const own = starts.filter((start) => workloadKey(start) === workload);
  const of = (revision: string) => own.filter((start) => start.revision === revision);
  const [old, young] = [of(before), of(after)];
  const [oldStages, youngStages] = [summarizeStages(old), summarizeStages(young)];
  const whole = (of: readonly FinishedView[]) => summarize(of.map(durationMs));
  return [
    { stage: "total", label: "Created to ready", before: whole(old), after: whole(young) },
    ...stages
      .filter((stage) => oldStages.has(stage) || youngStages.has(stage))
      .map((stage) => ({
        stage,
        label: stageLabels[stage],
        before: oldStages.get(stage) ?? summarize([]),
        after: youngStages.get(stage) ?? summarize([]),
      })),
  ];
}

/** Relative change: `+40 %`, `-1 %`, `same`. Undefined if a value is unknown. */
export function describeChange(before: number | undefined, after: number | undefined): string | undefined {
  if (before === undefined || after === undefined || before <= 0) return undefined;
  const percent = Math.round((after / before - 1) * 100);
  return percent === 0 ? "same" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`;
}
