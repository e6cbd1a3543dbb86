import { formatTime } from "../../api/format-time.ts";
import type { NodeCondition } from "../../api/objects.ts";
import type { RuntimeCondition } from "../../cri/generated/cri.ts";
import type { RuntimeAnswer } from "./read-runtime.ts";

export interface ConditionFacts {
  /** Undefined until the runtime has answered once. */
  readonly runtime: RuntimeAnswer | undefined;
  readonly shuttingDown: boolean;
  readonly previous: readonly NodeCondition[];
  readonly now: number;
}

/** A runtime may be away for as long, to be restarted, before the node is not ready. */
const runtimeMayBeSilentMs = 30_000;

/** Ready comes last, as old clients expect. */
export function nodeConditions(facts: ConditionFacts): NodeCondition[] {
  const problem = notReadyBecause(facts);
  const conditions = [
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

function runtimeProblems(runtime: RuntimeAnswer | undefined, now: number): string[] {
  if (!runtime) return ["container runtime status check may not have completed yet"];
  const down = now - runtime.atMs >= runtimeMayBeSilentMs ? ["container runtime is down"] : [];
  return [
    ...down,
    ...conditionProblem("container runtime not ready", runtime, "RuntimeReady"),
    ...conditionProblem("container runtime network not ready", runtime, "NetworkReady"),
  ];
}

function conditionProblem(problem: string, runtime: RuntimeAnswer, type: string): string[] {
  const condition = runtime.status.status?.conditions.find((each) => each.type === type);
  return condition?.status ? [] : [`${problem}: ${condition ? describe(condition) : "<nil>"}`];
}

function describe({ type, status, reason, message }: RuntimeCondition): string {
  return `${type}=${status} reason:${reason} message:${message}`;
}
