import type { Attributes } from "../attributes.ts";
import type { PolicyRule } from "./rbac-objects.ts";

export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  return ruleFits(rule, attributes) && nameFits(rule, attributes.name);
}

/** Whether a rule allows the verb on the resource, regardless of the object's name, or the non-resource path. */
export function ruleFits(rule: PolicyRule, attributes: Attributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false;
  if (!attributes.isResourceRequest) {
    return (rule.nonResourceURLs ?? []).some((pattern) => pathFits(pattern, attributes.path));
  }
  return has(rule.apiGroups, attributes.apiGroup) && resourceFits(rule.resources, attributes);
}

function nameFits({ resourceNames }: PolicyRule, name: string): boolean {
  return !resourceNames?.length || resourceNames.includes(name);
}

/** Whether a path matches a pattern. A trailing `*` matches any suffix. */
export function pathFits(pattern: string, path: string): boolean {
  if (!pattern.endsWith("*")) return pattern === path;
  let end = pattern.length;
  while (pattern[end - 1] === "*") end--;
  return path.startsWith(pattern.slice(0, end));
}

function has(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes("*") || list.includes(value));
}

function resourceFits(list: readonly string[] | undefined, { resource, subresource }: Attributes): boolean {
  if (!subresource) return has(list, resource);
  return has(list, `${resource}/${subresource}`) || (list?.includes(`*/${subresource}`) ?? false);
}
