import { createPublicKey } from "node:crypto";
import { hostname, networkInterfaces } from "node:os";
import { generateKey, type KeyPair, keyToPem, signCertificate } from "./certificate.ts";
import { type Subject, selfIssuer } from "./issuer.ts";

const dayMs = 24 * 60 * 60 * 1000;
const clockSkewMs = 5 * 60 * 1000;

/** Creates a key and a self-signed serving certificate, valid for a year. */
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

/** Creates a serving certificate for all host names and addresses of this machine. */
export function createServingPair(options: {
  readonly commonName: string;
  /** Listen address. */
  readonly host: string;
  readonly now: number;
}): KeyPair {
  const { commonName, host, now } = options;
  // Link-local addresses are excluded: every pod interface has one, and they are only valid on the link.
  const addresses = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ address }) => !/^fe[89ab]/i.test(address));
  const hosts = [...new Set([hostname(), "localhost", host, ...addresses.map(({ address }) => address)])];
  return createSelfSigned({ subject: { commonName }, hosts, now });
}
