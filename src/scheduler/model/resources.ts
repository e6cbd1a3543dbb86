import { milliUnits, parseQuantity, type Quantity, wholeUnits } from "../../api/meta/quantity.ts";

/** Resource amounts: milli-CPUs, bytes, counts. */
export interface Resources {
  cpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Extended resources, huge pages and attachable volumes, by name. */
  readonly scalars: Map<string, number>;
}

export function noResources(): Resources {
  return { cpu: 0, memory: 0, ephemeralStorage: 0, scalars: new Map() };
}

export function toResources(amounts: Iterable<readonly [string, Quantity]>): Resources {
  const resources = noResources();
  for (const [name, amount] of amounts) {
    if (name === "cpu") resources.cpu = milliUnits(amount);
    else if (name === "memory") resources.memory = wholeUnits(amount);
    else if (name === "ephemeral-storage") resources.ephemeralStorage = wholeUnits(amount);
    else if (isScalar(name)) resources.scalars.set(name, wholeUnits(amount));
  }
  return resources;
}

export interface Allocatable extends Resources {
  pods: number;
}

/** Allocatable resources of a node. Invalid quantities count as zero, so that one node cannot stop the scheduler. */
export function readAllocatable(list: Readonly<Record<string, string>> | undefined): Allocatable {
  const amounts: [string, Quantity][] = [];
  for (const [name, text] of Object.entries(list ?? {})) {
    try {
      amounts.push([name, parseQuantity(text)]);
    } catch {
      // The API server rejects such objects.
    }
  }
  const pods = amounts.find(([name]) => name === "pods")?.[1];
  return { ...toResources(amounts), pods: pods ? wholeUnits(pods) : 0 };
}

/** Adds (sign 1) or subtracts (sign -1) resources. */
export function addResources(total: Resources, part: Resources, sign: 1 | -1): void {
  total.cpu += sign * part.cpu;
  total.memory += sign * part.memory;
  total.ephemeralStorage += sign * part.ephemeralStorage;
  for (const [name, amount] of part.scalars) {
    total.scalars.set(name, (total.scalars.get(name) ?? 0) + sign * amount);
  }
}

function isScalar(name: string): boolean {
  return name.includes("/") || name.startsWith("hugepages-") || name.startsWith("attachable-volumes-");
}
