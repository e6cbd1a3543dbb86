import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../../api/field-error.ts";
import { formatTime } from "../../api/format-time.ts";
import { dnsSubdomainProblems } from "../../api/names.ts";
import type { KubeObject, Pod, Wire } from "../../api/objects.ts";
import { Report } from "../../api/validation/report.ts";

export type Binding = KubeObject & Wire<k8s.V1Binding>;

export type BindResult =
  | { readonly kind: "bound"; readonly pod: Pod }
  | { readonly kind: "invalid"; readonly errors: FieldError[] }
  /** The pod cannot be assigned any more, or not yet. */
  | { readonly kind: "conflict"; readonly message: string };

/** Assigns a pod to the node that a binding names. */
export function bindPod(pod: Pod, binding: Binding, now: number): BindResult {
  const errors = validateBinding(binding);
  if (errors.length > 0) return { kind: "invalid", errors };
  const { metadata, spec = { containers: [] }, status = {} } = pod;
  const { name, uid } = metadata;
  // A pod of the same name that was made since is not the one that was looked at.
  if (binding.metadata.uid && binding.metadata.uid !== uid) {
    const message = `Precondition failed: UID in precondition: ${binding.metadata.uid}, UID in object meta: ${uid}`;
    return { kind: "conflict", message };
  }
  if (metadata.deletionTimestamp) {
    return { kind: "conflict", message: `pod ${name} is being deleted, cannot be assigned to a host` };
  }
  if (spec.nodeName) {
    return { kind: "conflict", message: `pod ${name} is already assigned to node "${spec.nodeName}"` };
  }
  if (spec.schedulingGates?.length) {
    return { kind: "conflict", message: `pod ${name} has non-empty .spec.schedulingGates` };
  }
  const { nominatedNodeName: _, ...rest } = status;
  return {
    kind: "bound",
    pod: {
      ...pod,
      metadata: {
        ...metadata,
        ...merged("annotations", metadata.annotations, binding.metadata.annotations),
        ...merged("labels", metadata.labels, binding.metadata.labels),
      },
      spec: { ...spec, nodeName: binding.target.name },
      status: { ...rest, conditions: withScheduled(status.conditions ?? [], now) },
    },
  };
}

function validateBinding({ target }: Binding): FieldError[] {
  const at = new Report("target");
  if (target?.kind && target.kind !== "Node") at.notSupported("kind", target.kind, ["Node", "<empty>"]);
  if (!target?.name) at.required("name");
  else at.problems("name", target.name, dnsSubdomainProblems(target.name));
  return at.errors;
}

function merged(
  field: "annotations" | "labels",
  own: Record<string, string> | undefined,
  added: Record<string, string> | undefined,
): Record<string, Record<string, string>> {
  return added ? { [field]: { ...own, ...added } } : {};
}

type Condition = Wire<k8s.V1PodCondition>;

function withScheduled(conditions: readonly Condition[], now: number): Condition[] {
  const scheduled: Condition = {
    type: "PodScheduled",
    status: "True",
    lastTransitionTime: formatTime(now),
  };
  const others = conditions.filter(({ type }) => type !== "PodScheduled");
  return [...others, scheduled];
}
