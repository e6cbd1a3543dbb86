import { quoteList } from "../attributes.ts";
import type { PolicyRule } from "./rbac-objects.ts";
import { pathFits } from "./rule-allows.ts";

/** A role within the size limit of a request can have billions of combinations. */
const maxParts = 20_000;

/**
 * Permissions of `wanted` that `owned` does not include, as rules with one verb and one resource each. Undefined when
 * there are too many combinations to check.
 */
export function uncoveredRules(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] | undefined {
  const doubtful = wanted.filter((rule) => !owned.some((own) => covers(own, rule)));
  if (doubtful.reduce((sum, rule) => sum + countParts(rule), 0) > maxParts) return undefined;
  return doubtful.flatMap(breakDown).filter((part) => !owned.some((own) => covers(own, part)));
}

function countParts({ apiGroups, resources, resourceNames, nonResourceURLs, verbs }: PolicyRule): number {
  const things = (apiGroups?.length ?? 0) * (resources?.length ?? 0) * (resourceNames?.length || 1);
  return (things + (nonResourceURLs?.length ?? 0)) * verbs.length;
}

function breakDown(rule: PolicyRule): PolicyRule[] {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
  const names = resourceNames.length > 0 ? resourceNames.map((name) => [name]) : [undefined];
  return [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          names.map((name) => ({
            apiGroups: [group],
            resources: [resource],
            ...(name && { resourceNames: name }),
            verbs: [verb],
          })),
        ),
      ),
    ),
    ...nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] }))),
  ];
}

function covers(rule: PolicyRule, part: PolicyRule): boolean {
  return (
    hasAll(rule.verbs, part.verbs) &&
    hasAll(rule.apiGroups, part.apiGroups) &&
    (part.resources ?? []).every((resource) => coversResource(rule.resources ?? [], resource)) &&
    (!rule.resourceNames?.length || isSubset(rule.resourceNames, part.resourceNames)) &&
    (part.nonResourceURLs ?? []).every((url) =>
      (rule.nonResourceURLs ?? []).some((pattern) => pathFits(pattern, url)),
    )
  );
}

function hasAll(owned: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return owned.includes("*") || wanted.every((value) => owned.includes(value));
}

/** An empty list of names means all names, which includes any other list. */
function isSubset(owned: readonly string[], wanted: readonly string[] = []): boolean {
  return wanted.length > 0 && wanted.every((name) => owned.includes(name));
}

function coversResource(owned: readonly string[], resource: string): boolean {
  if (owned.includes("*") || owned.includes(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && owned.includes(`*${resource.slice(slash)}`);
}

/** Formats rules as upstream, one line per resource: `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`. */
export function describeRules(parts: readonly PolicyRule[]): string {
  const lines = new Map<string, { what: string; verbs: string[] }>();
  for (const { apiGroups, resources, nonResourceURLs, resourceNames, verbs } of parts) {
    const what = [
      field("APIGroups", apiGroups),
      field("Resources", resources),
      field("NonResourceURLs", nonResourceURLs),
      field("ResourceNames", resourceNames),
    ].join("");
    const key = nonResourceURLs ? `${what}${verbs}` : what;
    const line = lines.get(key) ?? { what, verbs: [] };
    line.verbs.push(...verbs);
    lines.set(key, line);
  }
  return [...lines.values()]
    .map(({ what, verbs }) => `{${what}Verbs:${quoteList(verbs)}}`)
    .sort()
    .join("\n");
}

function field(name: string, values: readonly string[] = []): string {
  return values.length > 0 ? `${name}:${quoteList(values)}, ` : "";
}
