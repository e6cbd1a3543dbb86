import type { Container, Pod, PodSpec } from "../../api/objects.ts";
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from "../../api/quantity.ts";

type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

type Requirements = NonNullable<Container["resources"]>;
type Kind = "requests" | "limits";
type Amounts = ReadonlyMap<string, Quantity>;

/** The class that the API server wrote down; a static pod has none yet. */
export function qosClass({ status, spec }: Pod): QosClass {
  switch (status?.qosClass) {
    case "Guaranteed":
    case "Burstable":
    case "BestEffort":
      return status.qosClass;
  }
  if (hasPodResources(spec)) return classOf(spec?.resources);
  return oneClass(containersOf(spec).map(({ resources }) => classOf(resources)));
}

function classOf({ requests = {}, limits = {} }: Requirements = {}): QosClass {
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

export function containersOf(spec: PodSpec | undefined): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** Whether the pod as a whole asks for something that its containers share. */
export function hasPodResources(
  spec: PodSpec | undefined,
  kinds: readonly Kind[] = ["requests", "limits"],
): boolean {
  return kinds.some((kind) => Object.keys(spec?.resources?.[kind] ?? {}).some(isPodResource));
}

function isPodResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

/** What the pod needs as a whole, without its overhead. */
export function podResources(spec: PodSpec | undefined, kind: Kind): Amounts {
  const needed = new Map(containerTotals(spec, kind));
  const own = Object.entries(spec?.resources?.[kind] ?? {}).filter(([name]) => isPodResource(name));
  for (const [name, amount] of own) needed.set(name, parseQuantity(amount));
  return needed;
}

/**
 * The most that its containers need at one time: all of them with their sidecars, or an init container with the
 * sidecars that were started before it.
 */
export function containerTotals(spec: PodSpec | undefined, kind: Kind): Amounts {
  const sidecars = new Map<string, Quantity>();
  const initPeak = new Map<string, Quantity>();
  for (const container of spec?.initContainers ?? []) {
    if (isSidecar(container)) add(sidecars, amountsOf(container, kind));
    const atThisTime = new Map(sidecars);
    if (!isSidecar(container)) add(atThisTime, amountsOf(container, kind));
    raise(initPeak, atThisTime);
  }
  const running = new Map(sidecars);
  for (const container of spec?.containers ?? []) add(running, amountsOf(container, kind));
  raise(running, initPeak);
  return running;
}

export function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === "Always";
}

function amountsOf({ resources }: Container, kind: Kind): Amounts {
  const amounts = Object.entries(resources?.[kind] ?? {});
  return new Map(amounts.map(([name, amount]) => [name, parseQuantity(amount)]));
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
