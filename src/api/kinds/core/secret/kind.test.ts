import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { useStrategy } from "../../strategy.fixture.ts";
import { keyPairProblem } from "./kind.ts";

const { createErrors, make, updateErrors } = useStrategy("v1", "Secret");

test.each<[object, string[]]>([
  [
    { type: "kubernetes.io/tls", data: {} },
    ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
  ],
  [{ type: "kubernetes.io/basic-auth", stringData: { username: "a" } }, []],
  [
    { type: "kubernetes.io/basic-auth" },
    ["data[username]: Required value", "data[password]: Required value"],
  ],
  [
    { type: "kubernetes.io/service-account-token" },
    ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
  ],
  [{ type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{}" } }, []],
  [
    { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "[1]" } },
    [
      'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
    ],
  ],
  [{ type: "example.com/own", data: {} }, []],
])("create %j", (fields, expected) => {
  expect(createErrors(fields)).toEqual(expected);
});

test("its type is immutable", () => {
  expect(updateErrors({ type: "a" }, { type: "b" })).toEqual([
    'type: Invalid value: "b": field is immutable',
  ]);
});

test("moves stringData to data", () => {
  const secret = make({ data: { a: "b2xk" }, stringData: { a: "new", b: "ä" } });
  expect(secret).toMatchObject({ type: "Opaque", data: { a: "bmV3", b: "w6Q=" } });
  expect(secret).not.toHaveProperty("stringData");
});

const pem = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey.export({
  type: "pkcs8",
  format: "pem",
}) as string;
const begin = "-----BEGIN CERTIFICATE-----";

test.each([
  ["", pem, "tls: failed to find any PEM data in certificate input"],
  [begin, "", "tls: failed to find any PEM data in key input"],
  [begin, pem, "tls: failed to parse private key"],
])("a certificate %j that does not go with its key", (certificate, key, problem) => {
  expect(keyPairProblem(certificate, key)).toBe(problem);
});
