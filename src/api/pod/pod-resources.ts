import type * as k8s from "@kubernetes/client-node";
import { conditionOf } from "../meta/object-facts.ts";
import type { Container, ContainerStatus, Pod, PodSpec } from "../meta/objects.ts";
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from "../meta/quantity.ts";
import { containersOf } from "./pod-containers.ts";

type ResourceKind = "requests" | "limits";
type Amounts = ReadonlyMap<string, Quantity>;
type AmountsOf = (container: Container) => Amounts;

/** Whether the pod has pod-level resources, which its containers share. */
export function hasPodResources(
  spec: PodSpec | undefined,
  kinds: readonly ResourceKind[] = ["requests", "limits"],
): boolean {
  return kinds.some((kind) => Object.keys(spec?.resources?.[kind] ?? {}).some(isPodResource));
}

export function isPodResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/** Requests or limits of the pod, without its overhead. */
export function podResources(spec: PodSpec | undefined, kind: ResourceKind): Amounts {
  return withPodLevel(containerTotals(spec, kind), spec, kind);
}

export function containerTotals(spec: PodSpec | undefined, kind: ResourceKind): Amounts {
  return totalsOf(spec, ({ resources }) => parseAmounts(resources?.[kind]));
}

export interface RequestsOptions {
  /** Requests of containers that have none. */
  readonly atLeast?: Amounts;
}

/** Resources that a node must have available for the pod: requests of the pod or of its containers, and overhead. */
export function podRequests(pod: Pod, { atLeast }: RequestsOptions = {}): Amounts {
  const { spec } = pod;
  const statuses = resizedStatuses(pod);
  const isInfeasible = hasInfeasibleResize(pod);
  const totals = totalsOf(spec, (container) => {
    const own = parseAmounts(container.resources?.requests);
    const status = statuses?.get(container.name);
    const needed = status ? resizedRequests(own, status, isInfeasible) : own;
    return atLeast ? withFallback(needed, atLeast) : needed;
  });
  const needed = new Map(withPodLevel(totals, spec, "requests"));
  add(needed, parseAmounts(spec?.overhead));
  return needed;
}

/**
 * Maximum that the containers need at one time: main containers with sidecars, or an init container with the sidecars
 * started before it.
 */
function totalsOf(spec: PodSpec | undefined, amountsOf: AmountsOf): Map<string, Quantity> {
  const running = new Map<string, Quantity>();
  for (const container of spec?.containers ?? []) add(running, amountsOf(container));
  if (!spec?.initContainers?.length) return running;

  const sidecars = new Map<string, Quantity>();
  const initPeak = new Map<string, Quantity>();
  for (const container of spec.initContainers) {
    if (isSidecar(container)) add(sidecars, amountsOf(container));
    const atThisTime = new Map(sidecars);
    if (!isSidecar(container)) add(atThisTime, amountsOf(container));
    raise(initPeak, atThisTime);
  }
  add(running, sidecars);
  raise(running, initPeak);
  return running;
}

export function isSidecar({ restartPolicy }: Pick<Container, "restartPolicy">): boolean {
  return restartPolicy === "Always";
}

function withPodLevel(totals: Amounts, spec: PodSpec | undefined, kind: ResourceKind): Amounts {
  const own = spec?.resources?.[kind];
  if (!own) return totals;
  const needed = new Map(totals);
  for (const [name, amount] of Object.entries(own)) {
    if (isPodResource(name)) needed.set(name, parseQuantity(amount));
  }
  return needed;
}

/** Statuses of containers that were resized in place, whose resources may differ from the spec. */
function resizedStatuses({ status }: Pod): Map<string, ContainerStatus> | undefined {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const resized = all.filter(({ resources }) => resources !== undefined);
  return resized.length > 0 ? new Map(resized.map((each) => [each.name, each])) : undefined;
}

function hasInfeasibleResize(pod: Pod): boolean {
  return conditionOf(pod, "PodResizePending")?.reason === "Infeasible";
}

/** Maximum of desired, allocated and actual requests. An infeasible resize does not count. */
function resizedRequests(wanted: Amounts, status: ContainerStatus, isInfeasible: boolean): Amounts {
  const needed = new Map(isInfeasible ? [] : wanted);
  raise(needed, parseAmounts(status.resources?.requests));
  raise(needed, parseAmounts(status.allocatedResources));
  return needed;
}

function withFallback(amounts: Amounts, fallback: Amounts): Amounts {
  return new Map([...fallback, ...amounts]);
}

function parseAmounts(list: Readonly<Record<string, string>> | undefined): Amounts {
  const amounts = new Map<string, Quantity>();
  for (const name in list) amounts.set(name, parseQuantity(list[name] ?? "0"));
  return amounts;
}

function add(totals: Map<string, Quantity>, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const total = totals.get(name);
    totals.set(name, total ? addQuantities(total, amount) : amount);
  }
}

function raise(totals: Map<string, Quantity>, amounts: Amounts): void {
  for (const [name, amount] of amounts) {
    const total = totals.get(name);
    if (!total || compareQuantities(amount, total) > 0) totals.set(name, amount);
  }
}

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** QoS class of a pod: the common class of all containers, otherwise Burstable. */
export function qosClassOf(spec: PodSpec): QosClass {
  if (hasCpuOrMemory(spec.resources)) return classOfRequirements(spec.resources);
  const containers = containersOf(spec);
  return oneClass(containers.map((container) => classOfRequirements(container.resources)));
}

function classOfRequirements(resources: k8s.V1ResourceRequirements | undefined): QosClass {
  const { requests = {}, limits = {} } = resources ?? {};
  return oneClass(
    ["cpu", "memory"].map((name) => {
      const request = parseQuantity(requests[name] ?? "0");
      if (compareQuantities(request, parseQuantity(limits[name] ?? "0")) !== 0) return "Burstable";
      return request.nanos === 0n ? "BestEffort" : "Guaranteed";
    }),
  );
}

function oneClass(classes: readonly QosClass[]): QosClass {
  const [first = "BestEffort"] = classes;
  return classes.every((each) => each === first) ? first : "Burstable";
}

function hasCpuOrMemory(resources: k8s.V1ResourceRequirements | undefined): boolean {
  const names = { ...resources?.requests, ...resources?.limits };
  return "cpu" in names || "memory" in names;
}
