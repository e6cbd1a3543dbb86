import { formatDuration } from "./duration.ts";
import type { Measure, Objective, ObjectiveSelector } from "./objective.ts";

const subjects: Readonly<Record<Measure, string>> = {
  start: "starts",
  "first-sandbox": "first sandboxes",
  recreation: "re-created sandboxes",
  pull: "image pulls",
  termination: "terminations",
  scheduling: "schedulings",
  sandbox: "sandbox stages",
  init: "init stages",
  containers: "container stages",
  readiness: "readiness stages",
};

/** `99% of first sandboxes within 10s, over 28d, in namespace shop` */
export function describeObjective(objective: Objective): string {
  const { kind, measure, target, windowMs, selector } = objective;
  const limit = kind === "latency" ? objective.thresholdMs : objective.deadlineMs;
  const what = kind === "latency" ? `${subjects[measure]} within` : `${subjects[measure]} succeed within`;
  return [
    `${formatPercent(target)} of ${what} ${formatDuration(limit)}`,
    `over ${formatDuration(windowMs)}`,
    ...describeSelector(selector),
  ].join(", ");
}

/** As few digits as say it: `99.9%`. */
function formatPercent(share: number): string {
  return `${Number((share * 100).toFixed(6))}%`;
}

function describeSelector(selector: ObjectiveSelector): string[] {
  const { namespaces, ownerKinds, runtimeClasses, storageClasses, chosen = {} } = selector;
  const either = (values: readonly string[]) => values.join(" or ");
  return [
    ...(namespaces ? [`in namespace ${either(namespaces)}`] : []),
    ...(ownerKinds ? [`of ${either(ownerKinds)}`] : []),
    ...(runtimeClasses ? [`with RuntimeClass ${either(runtimeClasses)}`] : []),
    ...(storageClasses ? [`with StorageClass ${either(storageClasses)}`] : []),
    ...Object.entries(chosen).map(([key, value]) => `with ${key}=${value}`),
  ];
}
