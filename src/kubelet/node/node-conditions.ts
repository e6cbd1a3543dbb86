import type { NodeCondition } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import type { RuntimeCondition } from "../../cri/generated/cri.ts";
import type { RuntimeState } from "./read-machine.ts";

/**
 * Whether the runtime reports the progress of image pulls and enforces their no-progress timeout (KEP-3542). It is unknown
 * before the first pull, and disabled by the feature gate ImagePullProgress.
 */
export type PullProgressSupport = "unknown" | "available" | "unavailable" | "disabled";

export const progressUnavailableReason = "PullImageWithProgressNotImplemented";
export const progressUnavailable =
  "the container runtime does not implement PullImageWithProgress: progress and no-progress timeout of image pulls are not available on this node";

export interface ConditionFacts {
  /** Undefined until the runtime has responded once. */
  readonly runtime: RuntimeState | undefined;
  readonly shuttingDown: boolean;
  readonly pullProgress: PullProgressSupport;
  readonly previous: readonly NodeCondition[];
  readonly now: number;
}

/** Time without a response of the runtime, for example during a restart, before the node is not ready. */
const runtimeMayBeSilentMs = 30_000;

/** Builds the conditions. Ready is last, as old clients expect. */
export function nodeConditions(facts: ConditionFacts): NodeCondition[] {
  const problem = notReadyBecause(facts);
  const conditions = [
    ...pullProgressCondition(facts),
    {
      type: "MemoryPressure",
      status: "False",
      reason: "KubeletHasSufficientMemory",
      message: "kubelet has sufficient memory available",
    },
    {
      type: "DiskPressure",
      status: "False",
      reason: "KubeletHasNoDiskPressure",
      message: "kubelet has no disk pressure",
    },
    {
      type: "PIDPressure",
      status: "False",
      reason: "KubeletHasSufficientPID",
      message: "kubelet has sufficient PID available",
    },
    problem === undefined
      ? { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" }
      : { type: "Ready", status: "False", reason: "KubeletNotReady", message: problem },
  ];
  return conditions.map((condition) => dated(condition, facts));
}

const pullProgressType = "ImagePullProgressAvailable";

/** The condition is set if progress is not available. Conditions are never removed, so one from before is kept current. */
function pullProgressCondition({ pullProgress, previous }: ConditionFacts): NodeCondition[] {
  const type = pullProgressType;
  if (pullProgress === "unavailable")
    return [{ type, status: "False", reason: progressUnavailableReason, message: progressUnavailable }];
  const before = previous.find((condition) => condition.type === type);
  if (!before) return [];
  switch (pullProgress) {
    case "unknown":
      return [before];
    case "available":
      return [
        {
          type,
          status: "True",
          reason: "PullImageWithProgressImplemented",
          message: "the container runtime reports the progress of image pulls",
        },
      ];
    case "disabled":
      return [
        {
          type,
          status: "False",
          reason: "FeatureGateDisabled",
          message: "feature gate ImagePullProgress is disabled",
        },
      ];
  }
}

function dated(condition: NodeCondition, { previous, now }: ConditionFacts): NodeCondition {
  const before = previous.find(({ type }) => type === condition.type);
  const unchanged = before?.status === condition.status ? before.lastTransitionTime : undefined;
  return {
    ...condition,
    lastHeartbeatTime: formatTime(now),
    lastTransitionTime: unchanged ?? formatTime(now),
  };
}

function notReadyBecause({ runtime, shuttingDown, now }: ConditionFacts): string | undefined {
  const problems = [...runtimeProblems(runtime, now), ...(shuttingDown ? ["node is shutting down"] : [])];
  return problems.length > 1 ? `[${problems.join(", ")}]` : problems[0];
}

function runtimeProblems(runtime: RuntimeState | undefined, now: number): string[] {
  if (!runtime) return ["container runtime status check may not have completed yet"];
  const down = now - runtime.atMs >= runtimeMayBeSilentMs ? ["container runtime is down"] : [];
  return [
    ...down,
    ...conditionProblem("container runtime not ready", runtime, "RuntimeReady"),
    ...conditionProblem("container runtime network not ready", runtime, "NetworkReady"),
  ];
}

function conditionProblem(problem: string, runtime: RuntimeState, type: string): string[] {
  const condition = runtime.status.status?.conditions.find((each) => each.type === type);
  return condition?.status ? [] : [`${problem}: ${condition ? describe(condition) : "<nil>"}`];
}

function describe({ type, status, reason, message }: RuntimeCondition): string {
  return `${type}=${status} reason:${reason} message:${message}`;
}
