import { createPublicKey } from "node:crypto";
import { hostname, networkInterfaces } from "node:os";
import { signCertificate } from "./certificate.ts";
import { type Subject, selfIssuer } from "./issuer.ts";
import { generateKey, type KeyPair, keyToPem } from "./key.ts";

const dayMs = 24 * 60 * 60 * 1000;
const clockSkewMs = 5 * 60 * 1000;

/** A new key and a serving certificate that it has signed itself, good for a year. */
export function createSelfSigned(options: {
  readonly subject: Subject;
  readonly hosts: readonly string[];
  readonly now: number;
}): KeyPair {
  const { subject, hosts, now } = options;
  const key = generateKey();
  const cert = signCertificate(
    {
      subject,
      hosts,
      publicKey: createPublicKey(key),
      purpose: "server",
      notBefore: now - clockSkewMs,
      notAfter: now + 365 * dayMs,
    },
    selfIssuer(subject, key),
  );
  return { cert, key: keyToPem(key) };
}

/** For a server of this machine, under each name that it has, and each address that others can call it by. */
export function createServingPair(options: {
  readonly commonName: string;
  /** Where it listens. */
  readonly host: string;
  readonly now: number;
}): KeyPair {
  const { commonName, host, now } = options;
  // Those of a link mean nothing beyond it, and every pod's link has one.
  const addresses = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ address }) => !/^fe[89ab]/i.test(address));
  const hosts = [...new Set([hostname(), "localhost", host, ...addresses.map(({ address }) => address)])];
  return createSelfSigned({ subject: { commonName }, hosts, now });
}
