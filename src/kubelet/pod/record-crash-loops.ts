import type { Pod } from "../../api/objects.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import { describePod } from "../container/config-error.ts";
import { containerFieldPath } from "../container-field-path.ts";
import type { PodPlan } from "./pod-plan.ts";

/** Says on the pod which of its containers have begun to wait before their next start. */
export function recordCrashLoops(
  recorder: Pick<EventRecorder, "record">,
  pod: Pod,
  { before, now }: { readonly before: PodPlan["crashLoops"]; readonly now: PodPlan["crashLoops"] },
): void {
  for (const [name, problem] of now) {
    if (before.get(name)?.message === problem.message) continue;
    const message = `Back-off restarting failed container ${name} in pod ${describePod(pod)}`;
    const fieldPath = containerFieldPath(pod, name);
    recorder.record(pod, { type: "Warning", reason: "BackOff", message, fieldPath });
  }
}
