import type * as k8s from "@kubernetes/client-node";
import { canonicalQuantity, formatQuantity, parseQuantity, QuantityError, roundUpToMilli } from "../quantity.ts";
import { badRequest } from "../status-error.ts";

export type ResourceList = Record<string, string>;

/** Amounts of resources are kept in their canonical form and to the thousandth. */
export function defaultResourceList(list: ResourceList | undefined): void {
  for (const name in list) {
    list[name] = readQuantity(list[name] ?? "", roundedForm);
  }
}

export function defaultResourceRequirements(resources: k8s.V1ResourceRequirements | undefined): void {
  if (!resources) return;
  defaultResourceList(resources.limits);
  defaultResourceList(resources.requests);
}

/** The canonical form of a quantity outside of resource lists, such as the size limit of a volume. */
export function defaultQuantity(text: string): string {
  return readQuantity(text, canonicalQuantity);
}

/** Only amounts below a thousandth need rounding, and those are written with `n`, `u`, an exponent or a fraction. */
function roundedForm(text: string): string {
  return /[nueE.]/.test(text) && !/^[0-9]+E$/.test(text) ? roundUp(text) : canonicalQuantity(text);
}

function roundUp(text: string): string {
  const quantity = parseQuantity(text);
  const rounded = roundUpToMilli(quantity);
  return rounded.nanos === quantity.nanos ? canonicalQuantity(text) : formatQuantity(rounded);
}

/** YAML writes `cpu: 1` as a number. What is no quantity at all cannot be an object of any kind: a bad request. */
function readQuantity(text: string | number, form: (text: string) => string): string {
  try {
    return form(String(text));
  } catch (error) {
    throw error instanceof QuantityError ? badRequest(error.message) : error;
  }
}
