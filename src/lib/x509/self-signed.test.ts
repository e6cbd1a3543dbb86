import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { createSelfSigned } from "./self-signed.ts";
import { subjectOf } from "./subject-of.ts";

test("a self-signed certificate is its own issuer's, for the names it was made for", () => {
  const subject = { commonName: "node-1@1700000000", organizations: ["a", "b, CN=c"] };
  const { cert } = createSelfSigned({
    subject,
    hosts: ["node-1", "10.1.2.3"],
    now: Date.parse("2026-01-01T00:00:00Z"),
  });
  const certificate = new X509Certificate(cert);
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.checkHost("node-1")).toBe("node-1");
  expect(certificate.checkIP("10.1.2.3")).toBe("10.1.2.3");
  expect(certificate.checkHost("node-2")).toBeUndefined();
  expect(certificate.validTo).toBe("Jan  1 00:00:00 2027 GMT");
  expect(subjectOf(certificate)).toEqual(subject);
});
