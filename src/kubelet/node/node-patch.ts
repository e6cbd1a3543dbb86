import { conditionOf } from "../../api/conditions.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Node, NodeCondition, NodeStatus } from "../../api/objects.ts";

type Patch = Record<string, unknown>;

/** Labels that say what the machine is: they are put right when a kubelet starts. Others belong to whoever set them. */
const machineLabels = [
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
];

/** The strategic merge patch of a node that was registered before; undefined when it is as it should be. */
export function registrationPatch(want: Node, has: Node): Patch | undefined {
  const metadata = {
    ...changedKeys("labels", pick(want.metadata.labels, machineLabels), has.metadata.labels),
    ...changedKeys("annotations", want.metadata.annotations, has.metadata.annotations),
  };
  const [wanted, had] = [want.status ?? {}, has.status ?? {}];
  const status = hasNodeChanged(wanted, had) ? heartbeatPatch(wanted, had) : undefined;
  if (Object.keys(metadata).length === 0 && !status) return undefined;
  return { ...(Object.keys(metadata).length > 0 && { metadata }), ...(status && { status }) };
}

/** Whether there is more to tell than that the node is still there. */
export function hasNodeChanged(want: NodeStatus, has: NodeStatus): boolean {
  const fields = changedFields(want, has);
  return (
    Object.keys(fields).length > 0 || (want.conditions ?? []).some((each) => hasConditionChanged(each, has))
  );
}

/**
 * The strategic merge patch of a node's status, with all of the kubelet's conditions: each patch is a heartbeat. What
 * others advertise there (extended resources, further conditions) stays.
 */
export function heartbeatPatch(want: NodeStatus, has: NodeStatus): Patch {
  return { ...changedFields(want, has), conditions: want.conditions };
}

function changedFields(want: NodeStatus, has: NodeStatus): Patch {
  const whole = ["daemonEndpoints", "features", "nodeInfo", "images", "runtimeHandlers"] as const;
  const changed = whole.filter((field) => want[field] !== undefined && !isEqual(want[field], has[field]));
  return {
    ...Object.fromEntries(changed.map((field) => [field, want[field]])),
    ...changedKeys("capacity", want.capacity, has.capacity),
    ...changedKeys("allocatable", want.allocatable, has.allocatable),
    // Addresses are merged by type, and there can be two of one type: the list is replaced as a whole.
    ...(!isEqual(want.addresses, has.addresses) && {
      addresses: [{ $patch: "replace" }, ...(want.addresses ?? [])],
    }),
  };
}

function hasConditionChanged(want: NodeCondition, has: NodeStatus): boolean {
  const before = conditionOf({ status: has }, want.type);
  return !isEqual({ ...want, lastHeartbeatTime: "" }, { ...before, lastHeartbeatTime: "" });
}

type Strings = Readonly<Record<string, string>>;

function changedKeys(field: string, want: Strings = {}, has: Strings = {}): Patch {
  const changed = Object.entries(want).filter(([key, value]) => has[key] !== value);
  return changed.length > 0 ? { [field]: Object.fromEntries(changed) } : {};
}

function pick(labels: Strings = {}, names: readonly string[]): Strings {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => names.includes(name)));
}
