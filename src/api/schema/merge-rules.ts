import type { MergeRule } from "./schema.ts";

// Merge rules of upstream 1.36. The models of the client package do not contain them.

/** List of objects that patches merge item by item. Server-side apply may need more than one key. */
function mergedBy(key: string, ...furtherKeys: readonly string[]): MergeRule {
  return {
    patchStrategy: ["merge"],
    patchMergeKey: key,
    listType: "map",
    listMapKeys: [key, ...furtherKeys],
  };
}

/** As `mergedBy`; a patch also clears the fields of an item that it does not contain. */
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

const defaultProtocol = { protocol: "TCP" };

const container = {
  env: mergedBy("name"),
  ports: { ...mergedBy("containerPort", "protocol"), listMapKeyDefaults: defaultProtocol },
  volumeDevices: mergedBy("devicePath"),
  volumeMounts: mergedBy("mountPath"),
};

export const mergeRules: Readonly<Record<string, Readonly<Record<string, MergeRule>>>> = {
  "admissionregistration.v1.MutatingWebhook": { matchConditions: mergedBy("name") },
  "admissionregistration.v1.MutatingWebhookConfiguration": { webhooks: mergedBy("name") },
  "admissionregistration.v1.ValidatingWebhook": { matchConditions: mergedBy("name") },
  "admissionregistration.v1.ValidatingWebhookConfiguration": { webhooks: mergedBy("name") },
  "apps.v1.DaemonSetStatus": conditions,
  "apps.v1.DeploymentSpec": { strategy: { patchStrategy: ["retainKeys"] } },
  "apps.v1.DeploymentStatus": conditions,
  "apps.v1.ReplicaSetStatus": conditions,
  "apps.v1.StatefulSetStatus": conditions,
  "batch.v1.JobStatus": {
    conditions: { patchStrategy: ["merge"], patchMergeKey: "type", listType: "atomic" },
  },
  "batch.v1.PodFailurePolicyOnExitCodesRequirement": { values: set },
  "batch.v1.UncountedTerminatedPods": { failed: set, succeeded: set },
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
  "core.v1.ServiceSpec": {
    ports: { ...mergedBy("port", "protocol"), listMapKeyDefaults: defaultProtocol },
    selector: atomicMap,
  },
  "core.v1.ServiceStatus": conditions,
  "discovery.v1.Endpoint": { addresses: set },
  "meta.v1.ObjectMeta": { finalizers: mergedSet, ownerReferences: mergedBy("uid") },
  "node.v1.Scheduling": { nodeSelector: atomicMap },
  "policy.v1.PodDisruptionBudgetSpec": { selector: { patchStrategy: ["replace"] } },
  "policy.v1.PodDisruptionBudgetStatus": conditions,
};

/** Definitions that server-side apply treats as one value. */
export const atomicDefinitions: ReadonlySet<string> = new Set([
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
  "core.v1.ScopeSelector",
  "core.v1.SecretKeySelector",
  "core.v1.SecretReference",
  "core.v1.TopologySelectorTerm",
  "core.v1.TypedLocalObjectReference",
  "discovery.v1.EndpointPort",
  "meta.v1.LabelSelector",
  "meta.v1.OwnerReference",
  "networking.v1.ServiceBackendPort",
  "rbac.v1.RoleRef",
  "rbac.v1.Subject",
]);
