import { createPublicKey, type X509Certificate } from "node:crypto";
import { join } from "node:path";
import { signCertificate } from "../../../lib/x509/certificate.ts";
import { type Issuer, issuerOf, type Subject, selfIssuer } from "../../../lib/x509/issuer.ts";
import { generateKey, type KeyPair, keyToPem } from "../../../lib/x509/key.ts";
import { loadOrCreateKey, PkiError, parseCertificate, readIfPresent } from "./key-pair.ts";
import { writeFileAtomically } from "./write-file.ts";

export interface Authority {
  /** PEM. */
  readonly cert: string;
  readonly certificate: X509Certificate;
  readonly issuer: Issuer;
}

const dayMs = 24 * 60 * 60 * 1000;
const caDays = 3650;
const leafDays = 365;
const clockSkewMs = 5 * 60 * 1000;
const subject: Subject = { commonName: "kubernetes" };

/**
 * `ca.crt` and `ca.key`. What exists is used, even if another tool made it, and never overwritten: everything that
 * trusts the old CA would be locked out. The key is written first, so that a crash leaves nothing that needs help.
 */
export async function loadOrCreateAuthority(directory: string, now: number): Promise<Authority> {
  const certPath = join(directory, "ca.crt");
  const keyPath = join(directory, "ca.key");
  const existing = await readIfPresent(certPath);
  if (existing !== undefined && (await readIfPresent(keyPath)) === undefined) {
    throw new PkiError(keyPath, "is missing, but its certificate ca.crt is there; restore the key");
  }
  const privateKey = await loadOrCreateKey(keyPath);
  const cert = existing ?? (await createCertificate());
  const certificate = parseCertificate(certPath, cert);
  if (!certificate.checkPrivateKey(privateKey)) throw new PkiError(certPath, "does not belong to ca.key");
  if (!certificate.ca) throw new PkiError(certPath, "is not the certificate of a CA");
  if (Date.parse(certificate.validTo) <= now) {
    throw new PkiError(
      certPath,
      `expired on ${certificate.validTo}; move it away and a new one is made for the same key`,
    );
  }
  if (Date.parse(certificate.validFrom) > now) {
    throw new PkiError(
      certPath,
      `is valid from ${certificate.validFrom}, and the clock says ${new Date(now).toUTCString()}; set the clock right, or move the file away and a new one is made for the same key`,
    );
  }
  return { cert, certificate, issuer: issuerOf(certificate, privateKey) };

  async function createCertificate(): Promise<string> {
    const created = signCertificate(
      {
        subject,
        publicKey: createPublicKey(privateKey),
        purpose: "ca",
        notBefore: now - clockSkewMs,
        notAfter: now + caDays * dayMs,
      },
      selfIssuer(subject, privateKey),
    );
    await writeFileAtomically(certPath, created, { mode: 0o644, existing: "keep" });
    return created;
  }
}

export interface IssueOptions {
  readonly subject: Subject;
  readonly purpose: "server" | "client";
  readonly hosts?: readonly string[];
  readonly now: number;
}

/** A new key and a certificate for it, good for a year or as long as the CA. */
export function issueKeyPair({ issuer, certificate }: Authority, options: IssueOptions): KeyPair {
  const { now, ...request } = options;
  const key = generateKey();
  const cert = signCertificate(
    {
      ...request,
      publicKey: createPublicKey(key),
      notBefore: now - clockSkewMs,
      notAfter: Math.min(now + leafDays * dayMs, Date.parse(certificate.validTo)),
    },
    issuer,
  );
  return { cert, key: keyToPem(key) };
}
