import type * as k8s from "@kubernetes/client-node";
import { formatQuantity, parseQuantity, roundUpToMilli } from "../quantity.ts";

/** Amounts of resources are kept to the thousandth, rounded up. */
export function defaultResourceList(list: Record<string, string> | undefined): void {
  for (const name in list) list[name] = roundUp(list[name] ?? "0");
}

export function defaultResourceRequirements(resources: k8s.V1ResourceRequirements | undefined): void {
  if (!resources) return;
  defaultResourceList(resources.limits);
  defaultResourceList(resources.requests);
}

function roundUp(amount: string): string {
  // Only what is written with a small suffix, an exponent or a fraction can be finer than that.
  if (!/[nueE.]/.test(amount)) return amount;
  const quantity = parseQuantity(amount);
  const rounded = roundUpToMilli(quantity);
  return rounded.nanos === quantity.nanos ? amount : formatQuantity(rounded);
}
