import { describe, expect, test } from "vitest";
import type { Webhook } from "../../../api/kinds/admissionregistration/webhook/webhook.ts";
import type { Operation } from "../admission-chain.ts";
import { matchRules } from "./admission-webhook.ts";

const pods = { group: "", version: "v1", plural: "pods" };
const namespaces = { group: "", version: "v1", plural: "namespaces" };
const everything = {
  operations: ["*"],
  apiGroups: ["*"],
  apiVersions: ["*"],
  resources: ["*/*"],
  scope: "*",
};

function webhook(rule: object, parts: Partial<Webhook> = {}): Webhook {
  return { name: "a.example.com", rules: [{ ...everything, ...rule }], ...parts } as Webhook;
}

describe("matchRules", () => {
  test.each<[string, object, { operation?: Operation; subresource?: string; namespace?: string }, boolean]>([
    ["wildcards match", {}, {}, true],
    ["the operation matches", { operations: ["CREATE"] }, {}, true],
    ["another operation does not", { operations: ["UPDATE", "DELETE"] }, {}, false],
    [
      "CONNECT is an operation",
      { operations: ["CONNECT"] },
      { operation: "connect", subresource: "exec" },
      true,
    ],
    ["the core group is empty", { apiGroups: [""] }, {}, true],
    ["another group does not", { apiGroups: ["apps"] }, {}, false],
    ["another version does not", { apiVersions: ["v2"] }, {}, false],
    ["a resource has no subresources", { resources: ["pods"] }, { subresource: "status" }, false],
    ["a star has no subresources", { resources: ["*"] }, { subresource: "status" }, false],
    ["a subresource is named", { resources: ["pods/status"] }, { subresource: "status" }, true],
    ["any subresource", { resources: ["pods/*"] }, { subresource: "exec" }, true],
    ["a subresource of any resource", { resources: ["*/exec"] }, { subresource: "exec" }, true],
    ["namespaced", { scope: "Namespaced" }, {}, true],
    ["cluster scope does not match namespaced objects", { scope: "Cluster" }, {}, false],
    ["cluster scope", { scope: "Cluster" }, { namespace: "" }, true],
  ])("%s", (_, rule, facts, matches) => {
    const request = { operation: "create" as const, subresource: "", namespace: "default", ...facts };
    const found = matchRules(webhook(rule), { ...request, resource: pods }, () => []);
    expect(found).toBe(matches ? pods : undefined);
  });

  test("a namespace is cluster-scoped, although its request has a namespace", () => {
    const request = { operation: "create", subresource: "", namespace: "a", resource: namespaces } as const;
    expect(matchRules(webhook({ scope: "Namespaced" }), request, () => [])).toBeUndefined();
    expect(matchRules(webhook({ scope: "Cluster" }), request, () => [])).toBe(namespaces);
  });

  const [v1, v2] = ["v1", "v2"].map((version) => ({ group: "example.com", version, plural: "things" }));
  test.each([
    ["Equivalent", v2],
    ["Exact", undefined],
  ])("with the match policy %s an equivalent version gives %o", (matchPolicy, expected) => {
    if (!v1 || !v2) throw new Error("no versions");
    const request = { operation: "create", subresource: "", namespace: "a", resource: v1 } as const;
    const hook = webhook({ apiVersions: ["v2"] }, { matchPolicy });
    expect(matchRules(hook, request, () => [v2])).toBe(expected);
  });
});
