import type { ContainerStatus } from "../../../api/objects.ts";
import { isFinalPhase } from "../../../api/pod-phase.ts";
import { healsByItself } from "../../../api/waiting-reasons.ts";
import { isFalse, isTrue, type Verdict } from "./verdict.ts";

const type = "FailingToStart";

/**
 * KEP-3815: whether a container waits for something that will not come by itself. With one such container the
 * condition has its reason and message; with several the first one's reason, and a message that names each.
 */
export function failingToStart(
  /** Init containers first, in the order in which they start. */
  statuses: readonly ContainerStatus[],
  phase: string,
): Verdict {
  if (isFinalPhase(phase)) return isFalse(type);
  const stuck = statuses.flatMap(({ name, state }) => {
    const { reason, message = "" } = state?.waiting ?? {};
    return reason !== undefined && !healsByItself(reason) ? [{ name, reason, message }] : [];
  });
  const [first, ...others] = stuck;
  if (!first) return isFalse(type);
  const message = others.length > 0 ? stuck.map(describe).join("; ") : first.message;
  return { ...isTrue(type, first.reason), ...(message && { message }) };
}

function describe({ name, reason, message }: { name: string; reason: string; message: string }): string {
  return `container ${name}: ${reason}${message && `: ${message}`}`;
}
