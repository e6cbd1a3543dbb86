import { describe, expect, test } from "vitest";
import { type Attributes, resourceAttributes } from "../attributes.ts";
import type { PolicyRule } from "./rbac-objects.ts";
import { pathFits, ruleAllows } from "./rule-allows.ts";

const user = { username: "x", groups: [], extra: {} };
const pods = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const getPod: Partial<Attributes> = { verb: "get", resource: "pods", name: "p" };
const getPath = (path: string) => ({ verb: "get", isResourceRequest: false, resource: "", path });

describe("ruleAllows", () => {
  test.each<[PolicyRule, Partial<Attributes>, boolean]>([
    [pods, getPod, true],
    [pods, { ...getPod, verb: "list" }, false],
    [pods, { ...getPod, apiGroup: "apps" }, false],
    [pods, { ...getPod, resource: "pod" }, false],
    [pods, { ...getPod, subresource: "status" }, false],
    [{ ...pods, verbs: ["*"] }, { ...getPod, verb: "anything" }, true],
    [{ ...pods, verbs: [] }, getPod, false],
    [{ ...pods, apiGroups: ["*"] }, { ...getPod, apiGroup: "apps" }, true],
    [{ ...pods, apiGroups: undefined }, getPod, false],
    [{ ...pods, resources: ["*"] }, { ...getPod, subresource: "exec" }, true],
    [{ ...pods, resources: ["pods/exec"] }, { ...getPod, subresource: "exec" }, true],
    [{ ...pods, resources: ["pods/exec"] }, getPod, false],
    [{ ...pods, resources: ["*/exec"] }, { ...getPod, subresource: "exec" }, true],
    [{ ...pods, resources: ["*/exec"] }, { ...getPod, subresource: "log" }, false],
    [{ ...pods, resources: ["*/"] }, getPod, false],
    [{ ...pods, resources: ["pods/*"] }, { ...getPod, subresource: "exec" }, false],
    [{ ...pods, resourceNames: ["p"] }, getPod, true],
    [{ ...pods, resourceNames: ["q"] }, getPod, false],
    [{ ...pods, resourceNames: ["p"] }, { ...getPod, name: "" }, false],
    [{ ...pods, resourceNames: [] }, { ...getPod, name: "" }, true],
    [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }, getPath("/metrics"), true],
    [{ nonResourceURLs: ["/metrics"], verbs: ["post"] }, getPath("/metrics"), false],
    [{ nonResourceURLs: ["*"], verbs: ["get"] }, getPod, false],
    [{ ...pods, resources: ["*"], apiGroups: ["*"] }, getPath("/metrics"), false],
  ])("%j for %j: %s", (rule, asked, expected) => {
    expect(ruleAllows(rule, resourceAttributes({ user, verb: "", resource: "", ...asked }))).toBe(expected);
  });
});

describe("pathFits", () => {
  test.each([
    ["*", "", true],
    ["*", "/api", true],
    ["/*", "", false],
    ["/*", "/", true],
    ["/api", "/api", true],
    ["/apis", "/api", false],
    ["/api/*", "/api/v1", true],
    ["/api/*", "/api", false],
    ["/api*", "/apis", true],
    ["/api/*/*", "/api/v1", false],
    ["/*/v1/*", "/api/v1", false],
  ])("%s for %s: %s", (pattern, path, expected) => {
    expect(pathFits(pattern, path)).toBe(expected);
  });

  test("matches a pattern of many stars in linear time", () => {
    expect(pathFits(`/${"*".repeat(200_000)}a*`, "/x")).toBe(false);
  });
});
