import type { KubeObject, PersistentVolumeClaim, Pod, Service } from "../meta/objects.ts";
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from "../meta/quantity.ts";
import { hasPodResources, podRequests, podResources } from "../pod/pod-resources.ts";
import { isExtended, isNative } from "../pod/validation/resources.ts";
import {
  attributesClassesOf,
  claimMatchesScope,
  isTerminating,
  podMatchesScope,
  type ScopeRequirement,
} from "./scopes.ts";
import { count, one, parseUsage, type Usage, zero } from "./usage.ts";

/** A write that may change the usage of a quota. */
export interface QuotaWrite {
  readonly operation: "create" | "update";
  readonly subresource: string;
  readonly object: KubeObject;
  readonly current: KubeObject | undefined;
}

/** Measures the objects of one resource for quotas. */
export interface Evaluator {
  /** Whether a write may change usage. */
  handles(write: QuotaWrite): boolean;
  /** Whether usage is measured under this name. */
  measures(name: string): boolean;
  usage(object: KubeObject, now: number): Usage;
  matchesScope(object: KubeObject, requirement: ScopeRequirement): boolean;
  /** Why an object cannot be measured: a pod without requests for which there is a quota. */
  problem(object: KubeObject, names: readonly string[]): string | undefined;
}

/** Resources that are never counted: events, and requests that are not stored. */
const ignoredGroups = ["events.k8s.io", "authentication.k8s.io", "authorization.k8s.io"];

/** Resources with a name of their own beside `count/`. */
const countedByName = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/** Evaluator of a resource. Undefined if quotas ignore it. */
export function evaluatorOf(resource: { group: string; plural: string }): Evaluator | undefined {
  const { group, plural } = resource;
  if (ignoredGroups.includes(group)) return undefined;
  if (group !== "") return countEvaluator([countNameOf(resource)]);
  if (plural === "events" || plural === "bindings") return undefined;
  if (plural === "pods") return podEvaluator;
  if (plural === "services") return serviceEvaluator;
  if (plural === "persistentvolumeclaims") return claimEvaluator;
  return countEvaluator([countNameOf(resource), ...(countedByName.includes(plural) ? [plural] : [])]);
}

/** `count/jobs.batch`, `count/pods` */
export function countNameOf({ group, plural }: { group: string; plural: string }): string {
  return group ? `count/${plural}.${group}` : `count/${plural}`;
}

function countEvaluator(names: readonly string[]): Evaluator {
  const usage = new Map(names.map((name) => [name, one]));
  return {
    handles: ({ operation, subresource }) => operation === "create" && subresource === "",
    measures: (name) => names.includes(name),
    usage: () => usage,
    matchesScope: () => false,
    problem: () => undefined,
  };
}

const podNames = new Set([
  ...["count/pods", "pods", "cpu", "memory", "ephemeral-storage"],
  ...["requests.cpu", "requests.memory", "requests.ephemeral-storage"],
  ...["limits.cpu", "limits.memory", "limits.ephemeral-storage"],
]);

/** Amounts that every container must declare if there is a quota for them. */
const requiredNames = new Set([
  ...["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"],
]);

const podEvaluator: Evaluator = {
  handles({ operation, subresource, object, current }) {
    if (subresource === "resize") return operation === "update";
    if (subresource !== "") return false;
    return (
      operation === "create" || isTerminating((object as Pod).spec) !== isTerminating((current as Pod)?.spec)
    );
  },
  measures: (name) =>
    podNames.has(name) ||
    name.startsWith("hugepages-") ||
    name.startsWith("requests.hugepages-") ||
    (name.startsWith("requests.") &&
      (!isNative(name) || name.startsWith("requests.deviceclass.resource.kubernetes.io/"))),
  usage(object, now) {
    const pod = object as Pod;
    // Pods that ended are still stored, and use nothing else.
    if (!isActive(pod, now)) return new Map([["count/pods", one]]);
    const { spec } = pod;
    const limits = new Map(podResources(spec, "limits"));
    for (const [name, amount] of Object.entries(spec?.overhead ?? {})) {
      const limit = limits.get(name);
      if (limit) limits.set(name, addQuantities(limit, parseQuantity(amount)));
    }
    return computeUsage(podRequests(pod), limits).set("count/pods", one);
  },
  matchesScope: (object, requirement) => podMatchesScope(object as Pod, requirement),
  problem(object, names) {
    const { spec } = object as Pod;
    if (hasPodResources(spec)) return undefined;
    const missing = new Map<string, string[]>();
    const required = names.filter((name) => requiredNames.has(name)).sort();
    for (const { name: container, resources } of [
      ...(spec?.containers ?? []),
      ...(spec?.initContainers ?? []),
    ]) {
      const declared = computeUsage(parseUsage(resources?.requests), parseUsage(resources?.limits));
      for (const name of required)
        if (!declared.has(name)) missing.set(name, [...(missing.get(name) ?? []), container]);
    }
    if (missing.size === 0) return undefined;
    const texts = required.flatMap((name) => {
      const containers = missing.get(name);
      return containers ? `${name} for: ${[...new Set(containers)].sort().join(",")}` : [];
    });
    return `must specify ${texts.join("; ")}`;
  },
};

/** Whether the pod uses more than its place in the store: it has not ended, and is not stuck while it is deleted. */
function isActive({ metadata, status }: Pod, now: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return now <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1_000;
}

function computeUsage(requests: Usage, limits: Usage): Map<string, Quantity> {
  const usage = new Map([["pods", one]]);
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const request = requests.get(name);
    const limit = limits.get(name);
    if (request) usage.set(name, request).set(`requests.${name}`, request);
    if (limit) usage.set(`limits.${name}`, limit);
  }
  for (const [name, request] of requests) {
    if (name.startsWith("hugepages-")) usage.set(name, request).set(`requests.${name}`, request);
    // Extended resources cannot be overcommitted, so that quotas know their requests only.
    else if (isExtended(name)) usage.set(`requests.${name}`, request);
  }
  return usage;
}

const serviceNames = ["count/services", "services", "services.nodeports", "services.loadbalancers"];

const serviceEvaluator: Evaluator = {
  handles: ({ subresource }) => subresource === "",
  measures: (name) => serviceNames.includes(name),
  usage(object) {
    const { type, ports = [], allocateLoadBalancerNodePorts = true } = (object as Service).spec ?? {};
    // Node ports are allocated later: what the service asks for counts.
    const isAllocated = type === "NodePort" || (type === "LoadBalancer" && allocateLoadBalancerNodePorts);
    const nodePorts = isAllocated
      ? ports
      : type === "LoadBalancer"
        ? ports.filter(({ nodePort }) => nodePort)
        : [];
    return new Map([
      ["count/services", one],
      ["services", one],
      ["services.nodeports", count(nodePorts.length)],
      ["services.loadbalancers", type === "LoadBalancer" ? one : zero],
    ]);
  },
  matchesScope: () => false,
  problem: () => undefined,
};

const claimNames = ["persistentvolumeclaims", "requests.storage"];
const classSuffix = ".storageclass.storage.k8s.io/";

const claimEvaluator: Evaluator = {
  handles({ operation, subresource, object, current }) {
    if (subresource === "") return true;
    if (subresource !== "status" || operation !== "update") return false;
    const claim = object as PersistentVolumeClaim;
    const before = current as PersistentVolumeClaim;
    return (
      claim.status?.allocatedResources?.storage !== before.status?.allocatedResources?.storage ||
      attributesClassesOf(claim).join() !== attributesClassesOf(before).join()
    );
  },
  measures: (name) =>
    name === "count/persistentvolumeclaims" ||
    claimNames.some((each) => name === each || name.endsWith(classSuffix + each)),
  usage(object) {
    const claim = object as PersistentVolumeClaim;
    const usage = new Map([
      ["persistentvolumeclaims", one],
      ["count/persistentvolumeclaims", one],
    ]);
    const storage = storageOf(claim);
    if (storage) usage.set("requests.storage", storage);
    const annotation = claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"];
    const storageClass = annotation ?? claim.spec?.storageClassName;
    if (!storageClass) return usage;
    usage.set(`${storageClass}${classSuffix}persistentvolumeclaims`, one);
    if (storage) usage.set(`${storageClass}${classSuffix}requests.storage`, storage);
    return usage;
  },
  matchesScope: (object, requirement) => claimMatchesScope(object as PersistentVolumeClaim, requirement),
  problem: () => undefined,
};

/** Requested storage, or what was allocated if that is more, in whole bytes. */
function storageOf({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const request = spec?.resources?.requests?.storage;
  if (request === undefined) return undefined;
  const requested = parseQuantity(request);
  const allocated = parseQuantity(status?.allocatedResources?.storage ?? "0");
  const storage = compareQuantities(allocated, requested) > 0 ? allocated : requested;
  const bytes = (storage.nanos + one.nanos - 1n) / one.nanos;
  return { ...storage, nanos: bytes * one.nanos };
}
