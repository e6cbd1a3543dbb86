import { beforeAll, expect, test } from "vitest";
import { loadConditionEngine } from "../conditions/condition-engine.ts";
import { validateWebhooks } from "./validate-webhooks.ts";
import type { Webhook } from "./webhook.ts";

beforeAll(async () => {
  await loadConditionEngine();
});

const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
function webhook(parts: object = {}): Webhook {
  return {
    name: "a.example.com",
    clientConfig: { url: "https://example.com/" },
    rules: [rule],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...parts,
  } as Webhook;
}
const withRule = (parts: object) => webhook({ rules: [{ ...rule, ...parts }] });
const messages = (webhooks: Webhook[], current?: Webhook[]) =>
  validateWebhooks(webhooks, current).map(({ field, message }) => `${field}: ${message}`);

test.each<[Webhook, string]>([
  [webhook({ name: "" }), "webhooks[0].name: Required value"],
  [
    webhook({ name: "a.b" }),
    'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
  ],
  [
    webhook({ timeoutSeconds: 31 }),
    "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be",
  ],
  [
    webhook({ sideEffects: undefined }),
    "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
  ],
  [
    webhook({ sideEffects: "Some" }),
    'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
  ],
  [
    webhook({ clientConfig: {} }),
    "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
  ],
  [webhook({ clientConfig: { url: "http://a" } }), "'https' is the only allowed URL scheme"],
  [
    webhook({ clientConfig: { service: { name: "a", namespace: "b", port: 0 } } }),
    "webhooks[0].clientConfig.service.port",
  ],
  [
    webhook({ admissionReviewVersions: [] }),
    "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
  ],
  [webhook({ admissionReviewVersions: ["v2"] }), "must include at least one of v1, v1beta1"],
  [
    webhook({ matchConditions: [{ name: "a" }] }),
    "webhooks[0].matchConditions[0].expression: Required value",
  ],
  [
    webhook({ matchConditions: [{ expression: "true" }] }),
    "webhooks[0].matchConditions[0].name: Required value",
  ],
  [
    webhook({ matchConditions: [{ name: "a b", expression: "true" }] }),
    'webhooks[0].matchConditions[0].name: Invalid value: "a b": name part must consist of',
  ],
  [
    webhook({ matchConditions: ["true", "false"].map((expression) => ({ name: "a", expression })) }),
    'webhooks[0].matchConditions[1].name: Duplicate value: "a"',
  ],
  [
    webhook({ matchConditions: [{ name: "a", expression: " request.object " }] }),
    "webhooks[0].matchConditions[0].expression: Invalid value: \"request.object\": compilation failed: ERROR: <input>:1:8: undefined field 'object'",
  ],
  [
    webhook({ matchConditions: [{ name: "a", expression: "object" }] }),
    'webhooks[0].matchConditions[0].expression: Invalid value: "object": must evaluate to bool but got dyn',
  ],
  [
    webhook({
      matchConditions: Array.from({ length: 65 }, (_, i) => ({ name: `c${i}`, expression: "true" })),
    }),
    "webhooks[0].matchConditions: Too many: 65: must have at most 64 items",
  ],
  [withRule({ operations: ["*", "CREATE"] }), "if '*' is present, must not specify other operations"],
  [withRule({ apiGroups: [] }), "webhooks[0].rules[0].apiGroups: Required value"],
  [withRule({ apiVersions: ["", "v1"] }), "webhooks[0].rules[0].apiVersions[0]: Required value"],
  [withRule({ resources: ["*/*", "pods"] }), "if '*/*' is present, must not specify other resources"],
  [
    withRule({ resources: ["*", "pods"] }),
    "if '*' is present, must not specify other resources without subresources",
  ],
  [
    withRule({ resources: ["pods/*", "pods/status"] }),
    "if 'pods/*' is present, must not specify pods/status",
  ],
  [
    withRule({ scope: "Other" }),
    'Unsupported value: "Other": supported values: "*", "Cluster", "Namespaced"',
  ],
])("%j has one error", (invalid, message) => {
  expect(messages([invalid])).toEqual([expect.stringContaining(message)]);
});

test("names are unique", () => {
  expect(messages([webhook(), webhook()])).toEqual(['webhooks[1].name: Duplicate value: "a.example.com"']);
});

test("an update may keep what was stored before it was invalid", () => {
  const stored = [webhook({ sideEffects: "Some", admissionReviewVersions: ["v2"] })];
  expect(messages(stored, stored)).toEqual([]);
});

test("match conditions are validated again when one of them changes", () => {
  const invalid = { name: "a", expression: "invalid" };
  const stored = [webhook({ matchConditions: [invalid] })];
  expect(messages(stored, stored)).toEqual([]);
  const changed = [webhook({ matchConditions: [invalid, { name: "b", expression: "true" }] })];
  expect(messages(changed, stored)).toEqual([expect.stringContaining("undeclared reference to 'invalid'")]);
});
