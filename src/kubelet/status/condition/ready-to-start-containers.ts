import type { StatusFacts } from "../status-facts.ts";
import { isFalse, isTrue, type Verdict } from "./verdict.ts";

const type = "PodReadyToStartContainers";
const notReady = "PodSandboxNotReady";

/**
 * KEP-3085: whether the pod has the one sandbox it needs, ready and, unless it is on the host's network, with an
 * address. Volumes come before the first container, so what keeps them away keeps this false too.
 */
export function readyToStartContainers(facts: StatusFacts): Verdict {
  const missing = missingForSandbox(facts) ?? missingForContainers(facts);
  if (missing === undefined) return isTrue(type);
  const { sandboxProblem, ending } = facts;
  if (sandboxProblem && !ending) return isFalse(type, sandboxProblem.reason, sandboxProblem.message);
  return isFalse(type, notReady, missing);
}

function missingForSandbox({ pod, observed, ending }: StatusFacts): string | undefined {
  const [sandbox, ...older] = observed?.sandboxes ?? [];
  if (!sandbox) return "no pod sandbox exists";
  if (!sandbox.ready || ending?.kind === "terminated") return "pod sandbox is not ready";
  if (older.some(({ ready }) => ready)) return "multiple pod sandboxes are ready and need to be reconciled";
  if (!pod.spec?.hostNetwork && sandbox.ips.length === 0) return "pod sandbox has no IP address";
  return undefined;
}

/** Volumes that failed beside the sandbox keep everything from being made in it. */
function missingForContainers({ observed, sandboxProblem }: StatusFacts): string | undefined {
  const sandboxId = observed?.sandboxes[0]?.id;
  const begun = observed?.containers.some((container) => container.sandboxId === sandboxId);
  return begun || sandboxProblem?.reason !== "FailedMount" ? undefined : sandboxProblem.message;
}
