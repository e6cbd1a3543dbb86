import { qualifiedNameProblems } from "../names.ts";

/** Resources that containers may ask for without a domain. */
const containerResources = new Set(["cpu", "memory", "ephemeral-storage"]);

/** Those that quotas count in whole numbers. */
const countedResources = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

/** Every name without a domain that means something, quotas included. */
const standardResources = new Set([
  ...containerResources,
  ...countedResources,
  "requests.cpu",
  "requests.memory",
  "requests.ephemeral-storage",
  "limits.cpu",
  "limits.memory",
  "limits.ephemeral-storage",
  "storage",
  "requests.storage",
]);

export function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

/** In the kubernetes.io domain, said or unsaid. */
function isNative(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

function isExtended(name: string): boolean {
  return (
    !isNative(name) && !name.startsWith("requests.") && qualifiedNameProblems(`requests.${name}`).length === 0
  );
}

/** Half a device or half a pod cannot be had. */
export function isCounted(name: string): boolean {
  return countedResources.has(name) || isExtended(name);
}

/** A request may be lower than the limit, on the chance that not everybody wants everything at once. */
export function mayOvercommit(name: string): boolean {
  return isNative(name) && !isHugePages(name);
}

export function resourceNameProblems(name: string): readonly string[] {
  const problems = qualifiedNameProblems(name);
  if (problems.length > 0 || name.includes("/") || standardResources.has(name)) return problems;
  if (isHugePages(name) || name.startsWith("requests.hugepages-")) return problems;
  return ["must be a standard resource type or fully qualified"];
}

export function containerResourceNameProblems(name: string): readonly string[] {
  if (containerResources.has(name)) return [];
  const problems = resourceNameProblems(name);
  if (!name.includes("/")) {
    return isHugePages(name) ? problems : [...problems, "must be a standard resource for containers"];
  }
  if (isNative(name) || isExtended(name)) return problems;
  return [...problems, "doesn't follow extended resource name standard"];
}
