import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { dnsSubdomainProblems, qualifiedNameProblems } from "../../../meta/names.ts";
import type { Pod, PodSpec } from "../../../meta/objects.ts";
import { ipProblems, isDualStack } from "../../../meta/validate-ip.ts";
import { containersOf, mayRestart } from "../../../pod/pod-containers.ts";
import { validatePodAnnotationUpdate } from "../../../pod/validation/pod-annotations.ts";

type PodStatus = NonNullable<Pod["status"]>;

export function validatePodStatusUpdate(next: Pod, current: Pod): FieldError[] {
  const at = new FieldErrors("status");
  validatePodAnnotationUpdate(
    next.metadata,
    current.metadata,
    new FieldErrors("metadata.annotations", at.errors),
  );
  const after = next.status ?? {};
  const before = current.status ?? {};
  validateConditions(after.conditions, at);
  validateNominatedNode(after.nominatedNodeName, current, at);
  if ((after.observedGeneration ?? 0) < 0) {
    at.invalid("observedGeneration", after.observedGeneration, "must be a non-negative integer");
  }
  if (after.qosClass !== before.qosClass) at.invalid("qosClass", after.qosClass ?? "", "field is immutable");
  if (hasEnded(before)) validateTransitions(after, before, current.spec ?? { containers: [] }, at);
  validateAddresses("podIPs", after, before, at);
  if (after.hostIPs?.length && after.hostIP !== after.hostIPs[0]?.ip) {
    at.invalid("hostIPs[0].ip", after.hostIPs[0]?.ip, "must be equal to `hostIP`");
  }
  validateAddresses("hostIPs", after, before, at);
  return at.errors;
}

const systemConditions = ["PodScheduled", "Ready", "Initialized"];

function validateConditions(conditions: PodStatus["conditions"], at: FieldErrors): void {
  at.each("conditions", conditions, ({ type, observedGeneration }, place) => {
    if ((observedGeneration ?? 0) < 0) {
      place.invalid("observedGeneration", observedGeneration, "must be a non-negative integer");
    }
    if (!systemConditions.includes(type)) place.problems("Type", type, qualifiedNameProblems(type));
  });
}

function validateNominatedNode(nodeName: string | undefined, current: Pod, at: FieldErrors): void {
  if (!nodeName || nodeName === current.status?.nominatedNodeName) return;
  at.problems("nominatedNodeName", nodeName, dnsSubdomainProblems(nodeName));
  if (current.spec?.nodeName) {
    at.forbidden("nominatedNodeName", "may not be set on pods that are already bound to a node");
  }
}

const statusLists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;

/** Whether a container has terminated. Without one, the spec need not be evaluated. */
function hasEnded(status: PodStatus): boolean {
  return statusLists.some((field) => status[field]?.some(({ state }) => state?.terminated !== undefined));
}

/** Rejects a container that runs again although its restart policy does not allow it. */
function validateTransitions(after: PodStatus, before: PodStatus, spec: PodSpec, at: FieldErrors): void {
  const containers = containersOf(spec);
  const rules = containers.flatMap((container) => container.restartPolicyRules ?? []);
  const byName = new Map(containers.map((container) => [container.name, container]));
  const anyMayRestart = rules.some((rule) => rule.action === "RestartAllContainers");
  for (const field of statusLists) {
    if (anyMayRestart && field !== "ephemeralContainerStatuses") continue;
    const alive = after[field]?.filter(({ state }) => state?.terminated === undefined);
    const revived = new Set(alive?.map(({ name }) => name));
    at.each(field, before[field], ({ name, state }, place) => {
      const exitCode = state?.terminated?.exitCode;
      if (exitCode === undefined) return;
      // Ephemeral containers are never restarted.
      const container = byName.get(name);
      if (container && mayRestart(container, spec, exitCode)) return;
      if (revived.has(name)) {
        place.forbidden("state", "may not be transitioned to non-terminated state");
      }
    });
  }
}

/** Validates addresses that the update adds. */
function validateAddresses(
  field: "podIPs" | "hostIPs",
  after: PodStatus,
  before: PodStatus,
  at: FieldErrors,
): void {
  const addresses = after[field]?.map(({ ip }) => ip) ?? [];
  const known = new Set(before[field]?.map(({ ip }) => ip));
  addresses.forEach((address, i) => {
    if (known.has(address)) return;
    at.problems(`${field}[${i}]`, address, ipProblems(address));
  });
  if (addresses.length > 1 && !isDualStack(addresses)) {
    at.invalid(field, after[field], "may specify no more than one IP for each IP family");
  }
}
