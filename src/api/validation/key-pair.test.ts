import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { keyPairProblem } from "./key-pair.ts";

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
