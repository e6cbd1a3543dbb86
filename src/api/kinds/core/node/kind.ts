import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { labelValueProblems, qualifiedNameProblems } from "../../../meta/names.ts";
import type { Node, Wire } from "../../../meta/objects.ts";
import { cidrProblems, ipFamilyOf } from "../../../meta/validate-ip.ts";
import { defaultResourceList } from "../../../pod/defaults/container.ts";
import { validateAmount } from "../../../pod/validation/resources.ts";
import { taintEffects } from "../../../pod/validation/scheduling.ts";
import { ageColumn, type Column, column, nameColumn, wideColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, type Strategy } from "../../strategy.ts";

const nodeColumns: readonly Column<Node>[] = [
  nameColumn,
  column("Status", "Whether the node is ready and takes new pods", nodeStatus),
  column("Roles", "Roles that the node's labels name", nodeRoles),
  ageColumn,
  column("Version", "Version of the kubelet", ({ status }) => status?.nodeInfo?.kubeletVersion ?? ""),
  wideColumn("Internal-IP", "Address inside the cluster", (node) => nodeAddress(node, "InternalIP")),
  wideColumn("External-IP", "Address outside the cluster", (node) => nodeAddress(node, "ExternalIP")),
  wideColumn("OS-Image", "Operating system", ({ status }) => status?.nodeInfo?.osImage || "<unknown>"),
  wideColumn("Kernel-Version", "Kernel and architecture", kernelVersion),
  wideColumn(
    "Container-Runtime",
    "Runtime that runs the containers",
    ({ status }) => status?.nodeInfo?.containerRuntimeVersion || "<unknown>",
  ),
];

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.findLast(({ type }) => type === "Ready");
  const word = ready ? (ready.status === "True" ? "Ready" : "NotReady") : "Unknown";
  return spec?.unschedulable ? `${word},SchedulingDisabled` : word;
}

const rolePrefix = "node-role.kubernetes.io/";

/** Roles from the labels `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE`. */
function nodeRoles({ metadata }: Node): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length));
    else if (key === "kubernetes.io/role") roles.add(value);
  }
  roles.delete("");
  return [...roles].sort().join(",") || "<none>";
}

function nodeAddress({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? "<none>";
}

function kernelVersion({ status }: Node): string {
  const { kernelVersion, architecture } = status?.nodeInfo ?? {};
  return `${kernelVersion || "<unknown>"}${architecture ? ` (${architecture})` : ""}`;
}

function validateNode(node: Node): FieldError[] {
  const at = new FieldErrors("");
  validateShared(node, at);
  const cidrs = node.spec?.podCIDRs ?? [];
  cidrs.forEach((cidr, i) => {
    at.problems(`spec.podCIDRs[${i}]`, cidr, cidrProblems(cidr));
  });
  const families = new Set(cidrs.map((cidr) => ipFamilyOf(cidr.split("/", 1)[0] ?? "")));
  if (families.size < cidrs.length) {
    at.invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family");
  }
  return at.errors;
}

function validateNodeUpdate(next: Node, current: Node): FieldError[] {
  const at = new FieldErrors("");
  validateShared(next, at);
  const seen = new Set<string>();
  at.each("status.addresses", next.status?.addresses, (address, place) => {
    const key = `${address.type}/${address.address}`;
    if (seen.has(key)) place.duplicate("", address);
    seen.add(key);
  });
  const before = current.spec ?? {};
  if (before.podCIDRs?.length && !isEqual(next.spec?.podCIDRs, before.podCIDRs)) {
    at.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid');
  }
  const { providerID } = next.spec ?? {};
  if (before.providerID && providerID !== before.providerID) {
    at.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid');
  }
  return at.errors;
}

function validateShared({ spec, status }: Node, at: FieldErrors): void {
  if (spec?.taints) validateTaints(spec.taints, at);
  for (const field of ["capacity", "allocatable"] as const) {
    const list = status?.[field];
    for (const name in list) validateAmount(name, list[name] ?? "0", at.child(`status.${field}.${name}`));
  }
}

/** Upstream reports taints below the metadata. */
function validateTaints(taints: Wire<k8s.V1Taint>[], at: FieldErrors): void {
  const seen = new Set<string>();
  at.each("metadata.taints", taints, (taint, place) => {
    const { key, value = "", effect } = taint;
    place.problems("key", key, qualifiedNameProblems(key));
    const problems = labelValueProblems(value);
    if (problems.length > 0) place.invalid("value", value, problems.join(";"));
    place.requiredOneOf("effect", effect, taintEffects);
    if (seen.has(`${key}/${effect}`))
      place.duplicate("", taint, "taints must be unique by key and effect pair");
    seen.add(`${key}/${effect}`);
  });
}

const strategy: Strategy<Node> = {
  applyDefaults({ spec, status }) {
    if (spec) defaultPodCidrs(spec);
    if (!status) return;
    if (status.capacity) status.allocatable ??= { ...status.capacity };
    defaultResourceList(status.capacity);
    defaultResourceList(status.allocatable);
  },

  // The status is not reset on create: a kubelet registers its node with it.
  prepareForUpdate(next, current) {
    keepField(next, current, "status");
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  validateStatusUpdate: validateNodeUpdate,

  warnings({ spec }) {
    const deprecated: string[] = [];
    if (spec?.configSource !== undefined)
      deprecated.push("spec.configSource: the feature is no longer supported");
    if (spec?.externalID)
      deprecated.push("spec.externalID: this field is deprecated, and is unused by Kubernetes");
    return deprecated;
  },

  selectableFields: { "spec.unschedulable": ({ spec }) => String(spec?.unschedulable ?? false) },
};

export const nodeKind = defineKind<Node>({
  resource: {
    group: "",
    version: "v1",
    plural: "nodes",
    kind: "Node",
    namespaced: false,
    shortNames: ["no"],
  },
  subresources: ["status", "proxy"],
  strategy,
  columns: nodeColumns,
});

/** `podCIDR` is the former name of the first of `podCIDRs` and takes precedence when they differ. */
function defaultPodCidrs(spec: NonNullable<Node["spec"]>): void {
  const first = spec.podCIDRs?.[0];
  if (spec.podCIDR && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  else if (first) spec.podCIDR = first;
}
