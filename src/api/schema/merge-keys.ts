import { definitionOf, parseType } from "./schema.ts";

/** How patches and appliers treat one field; what the models of the client package do not tell. */
export interface MergeRule {
  readonly patchStrategy?: readonly PatchStrategy[];
  /** Items of the list are the same item when this field is equal. */
  readonly patchMergeKey?: string;
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
}

type PatchStrategy = "merge" | "replace" | "retainKeys";

/** A list of objects that patches merge item by item. Server-side apply may need more keys than one. */
function mergedBy(key: string, ...furtherKeys: readonly string[]): MergeRule {
  return {
    patchStrategy: ["merge"],
    patchMergeKey: key,
    listType: "map",
    listMapKeys: [key, ...furtherKeys],
  };
}

/** As `mergedBy`, and fields of an item that its patch does not name are cleared. */
function mergedByRetainingKeys(key: string): MergeRule {
  return { ...mergedBy(key), patchStrategy: ["merge", "retainKeys"] };
}

function appliedBy(key: string): MergeRule {
  return { listType: "map", listMapKeys: [key] };
}

const conditions = { conditions: mergedBy("type") };
const mergedSet: MergeRule = { patchStrategy: ["merge"], listType: "set" };
const set: MergeRule = { listType: "set" };
const atomicMap: MergeRule = { mapType: "atomic" };
const granularMap: MergeRule = { mapType: "granular" };

const container = {
  env: mergedBy("name"),
  ports: mergedBy("containerPort", "protocol"),
  volumeDevices: mergedBy("devicePath"),
  volumeMounts: mergedBy("mountPath"),
};

const rules: Readonly<Record<string, Readonly<Record<string, MergeRule>>>> = {
  "apps.v1.DeploymentSpec": { strategy: { patchStrategy: ["retainKeys"] } },
  "apps.v1.DeploymentStatus": conditions,
  "apps.v1.ReplicaSetStatus": conditions,
  "apps.v1.StatefulSetStatus": conditions,
  "core.v1.Container": container,
  "core.v1.ContainerRestartRuleOnExitCodes": { values: set },
  "core.v1.ContainerStatus": {
    allocatedResourcesStatus: mergedBy("name"),
    volumeMounts: mergedBy("mountPath"),
  },
  "core.v1.EphemeralContainer": container,
  "core.v1.NamespaceStatus": conditions,
  "core.v1.NodeAllocatableResourceClaimStatus": { containers: set },
  "core.v1.NodeSpec": { podCIDRs: mergedSet },
  "core.v1.NodeStatus": { addresses: mergedBy("type"), ...conditions },
  "core.v1.PersistentVolumeClaimStatus": { allocatedResourceStatuses: granularMap, ...conditions },
  "core.v1.PersistentVolumeSpec": { claimRef: granularMap },
  "core.v1.PodSpec": {
    containers: mergedBy("name"),
    ephemeralContainers: mergedBy("name"),
    hostAliases: mergedBy("ip"),
    imagePullSecrets: mergedBy("name"),
    initContainers: mergedBy("name"),
    nodeSelector: atomicMap,
    resourceClaims: mergedByRetainingKeys("name"),
    schedulingGates: mergedBy("name"),
    topologySpreadConstraints: mergedBy("topologyKey", "whenUnsatisfiable"),
    volumes: mergedByRetainingKeys("name"),
  },
  "core.v1.PodStatus": {
    hostIPs: { patchStrategy: ["merge"], patchMergeKey: "ip", listType: "atomic" },
    podIPs: mergedBy("ip"),
    resourceClaimStatuses: mergedByRetainingKeys("name"),
    ...conditions,
  },
  "core.v1.ResourceRequirements": { claims: appliedBy("name") },
  "core.v1.ResourceStatus": { resources: appliedBy("resourceID") },
  "core.v1.ServiceAccount": { secrets: mergedBy("name") },
  "core.v1.ServiceSpec": { ports: mergedBy("port", "protocol"), selector: atomicMap },
  "core.v1.ServiceStatus": conditions,
  "discovery.v1.Endpoint": { addresses: set },
  "meta.v1.ObjectMeta": { finalizers: mergedSet, ownerReferences: mergedBy("uid") },
  "node.v1.Scheduling": { nodeSelector: atomicMap },
  "policy.v1.PodDisruptionBudgetSpec": { selector: { patchStrategy: ["replace"] } },
  "policy.v1.PodDisruptionBudgetStatus": conditions,
};

/** Definitions that server-side apply takes as one value. */
const atomicDefinitions: ReadonlySet<string> = new Set([
  "core.v1.ConfigMapKeySelector",
  "core.v1.EndpointAddress",
  "core.v1.EndpointPort",
  "core.v1.FileKeySelector",
  "core.v1.LocalObjectReference",
  "core.v1.NodeSelector",
  "core.v1.NodeSelectorTerm",
  "core.v1.ObjectFieldSelector",
  "core.v1.ObjectReference",
  "core.v1.ResourceFieldSelector",
  "core.v1.SecretKeySelector",
  "core.v1.SecretReference",
  "core.v1.TopologySelectorTerm",
  "core.v1.TypedLocalObjectReference",
  "discovery.v1.EndpointPort",
  "meta.v1.LabelSelector",
  "meta.v1.OwnerReference",
  "rbac.v1.RoleRef",
  "rbac.v1.Subject",
]);

const noRule: MergeRule = {};
const atomicList: MergeRule = { listType: "atomic" };

/** Lists are atomic unless the table says otherwise; only the items of a list of objects are nothing at all. */
export function mergeRuleOf(definition: string, field: string): MergeRule {
  const rule = rules[definition]?.[field];
  if (rule) return rule;
  const { fields, kind } = definitionOf(definition);
  const isList = parseType(fields[field] ?? "json").kind === "list";
  return isList && !(kind && field === "items") ? atomicList : noRule;
}

export function isAtomicDefinition(definition: string): boolean {
  return atomicDefinitions.has(definition);
}

/** Every definition and field that has a rule of its own. */
export function ownMergeRules(): { definition: string; field: string; rule: MergeRule }[] {
  return Object.entries(rules).flatMap(([definition, fields]) =>
    Object.entries(fields).map(([field, rule]) => ({ definition, field, rule })),
  );
}
