import { defaultPod, defaultPodIps } from "../../api/defaults/pod.ts";
import { formatTime } from "../../api/format-time.ts";
import type { Pod } from "../../api/objects.ts";
import { isFinalPhase } from "../../api/pod-phase.ts";
import { qosClassOf } from "../../api/qos-class.ts";
import { validatePod } from "../../api/validation/pod.ts";
import { validatePodStatusUpdate } from "../../api/validation/pod-status.ts";
import { validatePodUpdate } from "../../api/validation/pod-update.ts";
import { podWarnings } from "../../api/validation/pod-warnings.ts";
import { keepPriority } from "../admission/priority.ts";
import { keepSpec } from "../registry/lazy-spec.ts";
import { dropGatedPodFields } from "./drop-gated-fields.ts";
import { mergeLabelKeys } from "./merge-label-keys.ts";
import { keepField, raiseGenerationOnSpecChange, startGeneration } from "./prepare.ts";
import type { Strategy } from "./strategy.ts";

export const podStrategy: Strategy<Pod> = {
  applyDefaults: defaultPod,
  applyStatusDefaults: defaultPodIps,

  prepareForCreate(next, { features, now }) {
    startGeneration(next);
    dropGatedPodFields(next.spec, undefined, features);
    const spec = next.spec ?? { containers: [] };
    mergeLabelKeys(spec, next.metadata.labels);
    next.status = { phase: "Pending", qosClass: qosClassOf(spec) };
    if (spec.schedulingGates?.length) {
      next.status.conditions = [
        {
          type: "PodScheduled",
          status: "False",
          lastTransitionTime: formatTime(now),
          reason: "SchedulingGated",
          message: "Scheduling is blocked due to non-empty scheduling gates",
        },
      ];
    }
  },

  prepareForUpdate(next, current, { features }) {
    keepField(next, current, "status");
    keepPriority(next, current);
    dropGatedPodFields(next.spec, current.spec, features);
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepSpec(next, current);
    keepField(next.metadata, current.metadata, "ownerReferences");
    next.status ??= {};
    if (!next.status.qosClass) keepField(next.status, current.status ?? {}, "qosClass");
    keepObservedGenerations(next.status, current.status ?? {});
  },

  validate: validatePod,
  validateUpdate: validatePodUpdate,
  validateStatusUpdate: validatePodStatusUpdate,

  warnings: podWarnings,

  selectableFields: {
    "spec.nodeName": nodeNameOf,
    // What very old clients call it.
    "spec.host": nodeNameOf,
    "spec.restartPolicy": (pod) => pod.spec?.restartPolicy ?? "",
    "spec.schedulerName": (pod) => pod.spec?.schedulerName ?? "",
    "spec.serviceAccountName": (pod) => pod.spec?.serviceAccountName ?? "",
    "spec.hostNetwork": (pod) => String(pod.spec?.hostNetwork ?? false),
    "status.phase": (pod) => pod.status?.phase ?? "",
    "status.podIP": (pod) => pod.status?.podIPs?.[0]?.ip ?? "",
    "status.podIPs": () => "",
    "status.nominatedNodeName": (pod) => pod.status?.nominatedNodeName ?? "",
  },

  /** Nobody has to stop what runs nowhere, or no longer. */
  gracePeriodSeconds(pod, options) {
    const phase = pod.status?.phase;
    if (!pod.spec?.nodeName || isFinalPhase(phase)) return 0;
    const seconds = options.gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
    return seconds < 0 ? 1 : seconds;
  },
};

function nodeNameOf(pod: Pod): string {
  return pod.spec?.nodeName ?? "";
}

type PodStatus = NonNullable<Pod["status"]>;

/** Writers that know nothing of observed generations do not erase them. */
function keepObservedGenerations(next: PodStatus, current: PodStatus): void {
  if (!next.observedGeneration) keepField(next, current, "observedGeneration");
  for (const condition of next.conditions ?? []) {
    if (condition.observedGeneration) continue;
    const before = current.conditions?.find(({ type }) => type === condition.type);
    if (before) keepField(condition, before, "observedGeneration");
  }
}
