import type { ContainerStatus, Job, JobSpec, Pod } from "../../api/meta/objects.ts";
import { type IndexSet, parseIndexSet } from "./index-set.ts";

type FailurePolicy = NonNullable<JobSpec["podFailurePolicy"]>;
type FailureRule = FailurePolicy["rules"][number];

/** What the pod failure policy says about a failed pod. */
export interface FailureVerdict {
  /** Action of the matching rule. Undefined if none matches, in which case the failure counts. */
  readonly action?: "FailJob" | "FailIndex" | "Ignore" | "Count";
  /** Whether the failure counts towards the back-off limits. */
  readonly counts: boolean;
  /** Why the Job fails, for the action FailJob. */
  readonly message?: string;
}

/** Finds the first rule that matches a failed pod. */
export function judgeFailure({ spec }: Job, pod: Pod): FailureVerdict {
  for (const [position, rule] of (spec?.podFailurePolicy?.rules ?? []).entries()) {
    const match = matchRule(rule, pod);
    if (match === undefined) continue;
    switch (rule.action) {
      case "Ignore":
        return { action: "Ignore", counts: false };
      case "FailIndex":
      case "Count":
        return { action: rule.action, counts: true };
      case "FailJob":
        return {
          action: "FailJob",
          counts: true,
          message: `${match} matching ${rule.action} rule at index ${position}`,
        };
    }
  }
  return { counts: true };
}

/** Describes what matched, as the condition of the Job shows it. */
function matchRule({ onExitCodes, onPodConditions }: FailureRule, pod: Pod): string | undefined {
  const { metadata, status } = pod;
  const name = `${metadata.namespace}/${metadata.name}`;
  if (onExitCodes) {
    const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
    const container = statuses.find((candidate) => matchesExitCode(candidate, onExitCodes));
    const exitCode = container?.state?.terminated?.exitCode;
    return container && `Container ${container.name} for pod ${name} failed with exit code ${exitCode}`;
  }
  const condition = status?.conditions?.find(({ type, status: value }) =>
    onPodConditions?.some((pattern) => pattern.type === type && pattern.status === value),
  );
  return condition && `Pod ${name} has condition ${condition.type}`;
}

function matchesExitCode(
  { name, state }: ContainerStatus,
  { containerName = name, operator, values }: NonNullable<FailureRule["onExitCodes"]>,
): boolean {
  const exitCode = state?.terminated?.exitCode ?? 0;
  if (containerName !== name || exitCode === 0) return false;
  if (operator === "In") return values.includes(exitCode);
  return operator === "NotIn" && !values.includes(exitCode);
}

/** Message of the first rule of the success policy that the succeeded indexes meet. */
export function matchSuccessPolicy({ spec }: Job, succeeded: IndexSet): string | undefined {
  if (succeeded.size === 0) return undefined;
  const position = spec?.successPolicy?.rules.findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined)
      return succeededCount !== undefined && succeeded.size >= succeededCount;
    const required = parseIndexSet(succeededIndexes, spec.completions ?? 0);
    if (required.size === 0) return false;
    return succeeded.countCommon(required) >= (succeededCount ?? required.size);
  });
  return position === undefined || position < 0 ? undefined : `Matched rules at index ${position}`;
}
