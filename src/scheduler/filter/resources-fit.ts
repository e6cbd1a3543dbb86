import type { NodeInfo } from "../node-info.ts";
import type { Allocatable, Resources } from "../resources.ts";
import type { Filter, Rejection } from "./filter.ts";

export const resourcesFit: Filter = {
  name: "NodeResourcesFit",
  prepare({ requests }) {
    const scalars = [...requests.scalars].filter(([, amount]) => amount > 0);
    return { kind: "check", check: (node) => checkFit(requests, scalars, node) };
  },
};

type Scalars = readonly (readonly [string, number])[];

function checkFit(requests: Resources, scalars: Scalars, node: NodeInfo): Rejection | undefined {
  const { allocatable, requested, pods } = node;
  if (
    pods.size < allocatable.pods &&
    isWithin(requests.cpu, allocatable.cpu, requested.cpu) &&
    isWithin(requests.memory, allocatable.memory, requested.memory) &&
    isWithin(requests.ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage) &&
    scalars.every(([name, amount]) => isScalarWithin(node, name, amount))
  ) {
    return undefined;
  }
  return explainMisfit(requests, scalars, node);
}

function isWithin(wanted: number, allocatable: number, taken: number): boolean {
  return wanted === 0 || wanted <= allocatable - taken;
}

function isScalarWithin({ allocatable, requested }: NodeInfo, name: string, amount: number): boolean {
  return isWithin(amount, allocatable.scalars.get(name) ?? 0, requested.scalars.get(name) ?? 0);
}

function explainMisfit(requests: Resources, scalars: Scalars, node: NodeInfo): Rejection {
  const { allocatable, requested, pods } = node;
  const reasons: string[] = [];
  if (pods.size >= allocatable.pods) reasons.push("Too many pods");
  if (!isWithin(requests.cpu, allocatable.cpu, requested.cpu)) reasons.push("Insufficient cpu");
  if (!isWithin(requests.memory, allocatable.memory, requested.memory)) reasons.push("Insufficient memory");
  if (!isWithin(requests.ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage)) {
    reasons.push("Insufficient ephemeral-storage");
  }
  for (const [name, amount] of scalars) {
    if (!isScalarWithin(node, name, amount)) reasons.push(`Insufficient ${name}`);
  }
  return { reasons, canPodsHelp: fitsEmpty(requests, allocatable) };
}

export function fitsNode(requests: Resources, node: NodeInfo): boolean {
  return checkFit(requests, [...requests.scalars], node) === undefined;
}

/** Whether a node would be large enough without any pods. */
export function fitsEmpty(requests: Resources, allocatable: Allocatable): boolean {
  if (requests.cpu > allocatable.cpu || requests.memory > allocatable.memory) return false;
  if (requests.ephemeralStorage > allocatable.ephemeralStorage) return false;
  for (const [name, amount] of requests.scalars) {
    if (amount > (allocatable.scalars.get(name) ?? 0)) return false;
  }
  return true;
}
