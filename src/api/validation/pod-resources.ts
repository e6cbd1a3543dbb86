import type { PodSpec } from "../objects.ts";
import { containerTotals, isPodResource } from "../pod-resources.ts";
import { compareQuantities, formatQuantity, parseQuantity } from "../quantity.ts";
import type { Report } from "./report.ts";
import { isHugePages, resourceNameProblems } from "./resource-name.ts";
import { validateResourceRequirements } from "./resources.ts";

/** Resources that a pod as a whole asks for: its containers share them. */
export function validatePodResources(spec: PodSpec, at: Report, claimNames: ReadonlySet<string>): void {
  const { resources } = spec;
  if (!resources) return;
  if (spec.os?.name === "windows") {
    at.forbidden("", "may not be set for a windows pod");
    return;
  }
  if (resources.claims) at.forbidden("claims", "claims may not be set for Resources at pod-level");
  validateResourceRequirements(resources, at, { claimNames, validateName: validatePodResourceName });

  for (const [name, needed] of containerTotals(spec, "requests")) {
    const given = resources.requests?.[name];
    if (given !== undefined && compareQuantities(needed, parseQuantity(given)) > 0) {
      const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(needed)}`;
      at.invalid(`requests[${name}]`, given, detail);
    }
  }
  for (const [name, needed] of containerTotals(spec, "limits")) {
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

function validatePodResourceName(name: string, at: Report): void {
  const problems = resourceNameProblems(name);
  at.problems("", name, problems);
  if (problems.length === 0 && !isPodResource(name))
    at.notSupported("", name, ["cpu", "hugepages-", "memory"]);
}
