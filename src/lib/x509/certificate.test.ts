import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { createSelfSigned, createServingPair } from "./certificate.ts";
import { subjectOf } from "./issuer.ts";

test("a self-signed certificate is issued by its own subject for the given names", () => {
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

test("a certificate may have thousands of addresses", () => {
  const hosts = Array.from({ length: 12_000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
  const { cert } = createSelfSigned({ subject: { commonName: "many" }, hosts, now: Date.now() });
  expect(new X509Certificate(cert).checkIP("10.1.46.223")).toBe("10.1.46.223");
});

test("a serving certificate includes the listen address and this machine's names", () => {
  const { cert } = createServingPair({ commonName: "kindling", host: "192.0.2.7", now: Date.now() });
  const certificate = new X509Certificate(cert);
  for (const address of ["192.0.2.7", "127.0.0.1"]) expect(certificate.checkIP(address)).toBe(address);
  expect(certificate.checkHost("localhost")).toBe("localhost");
  expect(certificate.subjectAltName).not.toMatch(/FE80/i);
});
