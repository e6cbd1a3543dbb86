import type * as k8s from "@kubernetes/client-node";
import { keepSpec } from "../../../meta/lazy-spec.ts";
import type { Pod, PodSpec } from "../../../meta/objects.ts";
import { formatTime } from "../../../meta/time.ts";
import { defaultPod, defaultPodIps } from "../../../pod/defaults/pod.ts";
import { qosClassOf } from "../../../pod/pod-resources.ts";
import { isFinalPhase } from "../../../pod/pod-state.ts";
import { validatePod } from "../../../pod/validation/pod.ts";
import { podWarnings } from "../../../pod/validation/pod-warnings.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";
import { podColumns, podRowConditions } from "./columns.ts";
import { dropGatedPodFields } from "./drop-gated-fields.ts";
import { validatePodStatusUpdate } from "./validate-status.ts";
import { validatePodUpdate } from "./validate-update.ts";

const strategy: Strategy<Pod> = {
  resetByStatusUpdate: { "f:metadata": { "f:deletionTimestamp": {}, "f:ownerReferences": {} } },
  returnsDeletedObject: true,
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
    // Former name of spec.nodeName.
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

  /** 0 for a pod that has no node or has finished: no kubelet has to stop it. */
  gracePeriodSeconds(pod, options) {
    const phase = pod.status?.phase;
    if (!pod.spec?.nodeName || isFinalPhase(phase)) return 0;
    const seconds = options.gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 0;
    return seconds < 0 ? 1 : seconds;
  },
};

export const podKind = defineKind<Pod>({
  resource: {
    group: "",
    version: "v1",
    plural: "pods",
    kind: "Pod",
    shortNames: ["po"],
    categories: ["all"],
  },
  subresources: ["status", "binding", "eviction", "log", "exec", "attach", "portforward", "proxy"],
  strategy,
  columns: podColumns,
  rowConditions: podRowConditions,
});

function nodeNameOf(pod: Pod): string {
  return pod.spec?.nodeName ?? "";
}

type PodStatus = NonNullable<Pod["status"]>;

/** Keeps observed generations when an update leaves them out. */
function keepObservedGenerations(next: PodStatus, current: PodStatus): void {
  if (!next.observedGeneration) keepField(next, current, "observedGeneration");
  for (const condition of next.conditions ?? []) {
    if (condition.observedGeneration) continue;
    const before = current.conditions?.find(({ type }) => type === condition.type);
    if (before) keepField(condition, before, "observedGeneration");
  }
}

/** Keeps the computed priority and preemption policy when an update leaves them out. */
function keepPriority(next: Pod, current: Pod): void {
  if (!next.spec || !current.spec) return;
  next.spec.priority ??= current.spec.priority;
  next.spec.preemptionPolicy ??= current.spec.preemptionPolicy;
}

type Labels = Record<string, string> | undefined;

/** Adds the pod's values of `matchLabelKeys` to the selectors on create, so that readers need not evaluate them. */
function mergeLabelKeys(spec: PodSpec, labels: Labels): void {
  const { affinity, topologySpreadConstraints = [] } = spec;
  for (const constraint of topologySpreadConstraints) merge(constraint, labels);
  for (const side of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of side?.requiredDuringSchedulingIgnoredDuringExecution ?? []) merge(term, labels);
    for (const { podAffinityTerm } of side?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      merge(podAffinityTerm, labels);
    }
  }
}

type Term = Pick<k8s.V1PodAffinityTerm, "labelSelector" | "matchLabelKeys" | "mismatchLabelKeys">;

function merge({ labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: Term, labels: Labels): void {
  if (!labelSelector) return;
  const added = [
    ...requirements(matchLabelKeys, "In", labels),
    ...requirements(mismatchLabelKeys, "NotIn", labels),
  ];
  if (added.length > 0) {
    labelSelector.matchExpressions = [...(labelSelector.matchExpressions ?? []), ...added];
  }
}

function requirements(
  keys: readonly string[],
  operator: string,
  labels: Labels,
): k8s.V1LabelSelectorRequirement[] {
  return keys.flatMap((key) => {
    const value = labels?.[key];
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
}
