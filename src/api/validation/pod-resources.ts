import type { Container, PodSpec } from "../objects.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
} from "../quantity.ts";
import type { Report } from "./report.ts";
import { isHugePages, resourceNameProblems } from "./resource-name.ts";
import { validateResourceRequirements } from "./resources.ts";

/** Resources that a pod as a whole asks for: its containers share them. */
export function validatePodResources(spec: PodSpec, at: Report): void {
  const { resources } = spec;
  if (!resources) return;
  if (spec.os?.name === "windows") {
    at.forbidden("", "may not be set for a windows pod");
    return;
  }
  if (resources.claims) at.forbidden("claims", "claims may not be set for Resources at pod-level");
  validateResourceRequirements({ limits: resources.limits, requests: resources.requests }, at, {
    claimNames: new Set(),
    nameProblems: podResourceNameProblems,
  });

  for (const [name, needed] of aggregate(spec, "requests")) {
    const given = resources.requests?.[name];
    if (given !== undefined && compareQuantities(needed, parseQuantity(given)) > 0) {
      const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(needed)}`;
      at.invalid(`requests[${name}]`, given, detail);
    }
  }
  for (const [name, needed] of aggregate(spec, "limits")) {
    const given = resources.limits?.[name];
    if (!isHugePages(name) || given === undefined) continue;
    if (compareQuantities(needed, parseQuantity(given)) > 0) {
      const detail = `must be greater than or equal to aggregate container limits of ${formatQuantity(needed)}`;
      at.invalid(`limits[${name}]`, given, detail);
    }
  }
  at.each("containers", spec.containers, (container, place) => {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const given = resources.limits?.[name];
      if (given !== undefined && compareQuantities(parseQuantity(limit), parseQuantity(given)) > 0) {
        place.invalid(`[${name}].limits`, limit, `must be less than or equal to pod limits of ${given}`);
      }
    }
  });
}

function podResourceNameProblems(name: string): readonly string[] {
  const problems = resourceNameProblems(name);
  if (problems.length > 0 || name === "cpu" || name === "memory" || isHugePages(name)) return problems;
  return ['supported values: "cpu", "hugepages-", "memory"'];
}

type Totals = Map<string, Quantity>;

/**
 * What the containers of a pod need at the worst moment: all main ones and sidecars together, or one init
 * container beside the sidecars that were started before it.
 */
function aggregate(spec: PodSpec, kind: "requests" | "limits"): Totals {
  const running: Totals = new Map();
  const peak: Totals = new Map();
  for (const container of spec.initContainers ?? []) {
    const needed = amountsOf(container, kind);
    if (container.restartPolicy === "Always") {
      addTo(running, needed);
      raiseTo(peak, running);
    } else {
      raiseTo(peak, addTo(new Map(running), needed));
    }
  }
  for (const container of spec.containers ?? []) addTo(running, amountsOf(container, kind));
  return raiseTo(peak, running);
}

function amountsOf({ resources }: Container, kind: "requests" | "limits"): Totals {
  const amounts = Object.entries(resources?.[kind] ?? {});
  return new Map(amounts.map(([name, amount]) => [name, parseQuantity(amount)]));
}

function addTo(totals: Totals, amounts: Totals): Totals {
  for (const [name, amount] of amounts) {
    const total = totals.get(name);
    totals.set(name, total ? addQuantities(total, amount) : amount);
  }
  return totals;
}

function raiseTo(totals: Totals, amounts: Totals): Totals {
  for (const [name, amount] of amounts) {
    const total = totals.get(name);
    if (!total || compareQuantities(amount, total) > 0) totals.set(name, amount);
  }
  return totals;
}
