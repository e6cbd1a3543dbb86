import { expect, test } from "vitest";
import type { Secret } from "../../api/objects.ts";
import { readPullSecret } from "./read-pull-secret.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const secret = (type: string, key: string, text: string): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "pull", namespace: "default" },
  type,
  data: { [key]: base64(text) },
});
const json = (value: unknown) =>
  secret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", JSON.stringify(value));

const login = { username: "u", password: "p:q" };
test.each([
  [json({ auths: { "quay.io": { auth: base64("u:p:q") } } }), [{ server: "quay.io", login }]],
  [
    json({ auths: { "quay.io": { auth: base64("u:p:q").replace(/=+$/, "") } } }),
    [{ server: "quay.io", login }],
  ],
  [json({ auths: { "quay.io": { auth: "dTp\r\nwOnE=\n \n" } } }), [{ server: "quay.io", login }]],
  [json({ auths: { "quay.io": { username: "u", password: "p:q" } } }), [{ server: "quay.io", login }]],
  [json({ auths: { "quay.io": { username: "x", auth: base64("u:p:q") } } }), [{ server: "quay.io", login }]],
  [json({ auths: { "quay.io": {} } }), [{ server: "quay.io", login: { username: "", password: "" } }]],
  [json({ auths: {} }), []],
  [json({}), []],
  [
    secret("kubernetes.io/dockercfg", ".dockercfg", JSON.stringify({ "quay.io": { auth: base64("u:p:q") } })),
    [{ server: "quay.io", login }],
  ],
  [secret("Opaque", ".dockerconfigjson", "{}"), []],
  [secret("kubernetes.io/dockerconfigjson", "other", "{}"), []],
  [secret("constructor", "name", "{}"), []],
])("logins of a secret (%#)", (given, entries) => {
  expect(readPullSecret(given)).toEqual(entries);
});

const notJson = '.dockerconfigjson of pull secret "pull" is not a docker configuration in JSON';
const noLogin = '.dockerconfigjson of pull secret "pull" has no usable login for "quay.io"';
test.each([
  [secret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", "nope"), notJson],
  [json([]), notJson],
  [json({ auths: "x" }), notJson],
  [json({ auths: { "quay.io": "x" } }), noLogin],
  [json({ auths: { "quay.io": { auth: "%%%" } } }), noLogin],
  [json({ auths: { "quay.io": { auth: base64("no colon") } } }), noLogin],
  // As large as a secret may be, and read in no time.
  [json({ auths: { "quay.io": { auth: `${"\n".repeat(500_000)}%` } } }), noLogin],
  [json({ auths: { "quay.io": { username: 5 } } }), noLogin],
])("a malformed secret is named (%#)", (given, message) => {
  expect(() => readPullSecret(given)).toThrow(message);
});
