import { formatTime } from "../../api/format-time.ts";
import type { Deployment } from "../../api/objects.ts";

export type DeploymentStatus = NonNullable<Deployment["status"]>;
export type Conditions = NonNullable<DeploymentStatus["conditions"]>;
type Condition = Conditions[number];

export interface Finding {
  readonly type: "Progressing" | "Available";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export function conditionOf(conditions: Conditions | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** One of the same status and reason stays as it is: its times tell since when. */
export function withFinding(conditions: Conditions, finding: Finding, now: number): Conditions {
  const time = formatTime(now);
  return withCondition(conditions, { ...finding, lastUpdateTime: time, lastTransitionTime: time });
}

export function withCondition(conditions: Conditions, condition: Condition): Conditions {
  const before = conditionOf(conditions, condition.type);
  if (before?.status === condition.status && before.reason === condition.reason) return conditions;
  return replaced(conditions, condition);
}

/** Says again what was said before: the time of the last update is when it was last true. */
export function withNews(conditions: Conditions, finding: Finding, now: number): Conditions {
  const time = formatTime(now);
  return replaced(conditions, { ...finding, lastUpdateTime: time, lastTransitionTime: time });
}

function replaced(conditions: Conditions, condition: Condition): Conditions {
  const before = conditionOf(conditions, condition.type);
  const { lastTransitionTime } = before?.status === condition.status ? before : condition;
  return [...withoutCondition(conditions, condition.type), { ...condition, lastTransitionTime }];
}

export function withoutCondition(conditions: Conditions, type: string): Conditions {
  return conditions.filter((condition) => condition.type !== type);
}
