import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileDurably } from "../../../lib/fs/write-file-atomic.ts";
import { messageOf } from "../../../lib/message-of.ts";
import { generateKey, type KeyPair, keyToPem, signCertificate } from "../../../lib/x509/certificate.ts";
import { type Issuer, issuerOf, type Subject, selfIssuer } from "../../../lib/x509/issuer.ts";

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
 * Loads `ca.crt` and `ca.key`, or creates them. Existing files are used, even if another tool created them, and never
 * overwritten, because everything that trusts the old CA would be locked out. The key is written first, so that a crash
 * in between needs no repair.
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
    await writeFileDurably(certPath, created, { mode: 0o644, existing: "keep" });
    return created;
  }
}

export interface IssueOptions {
  readonly subject: Subject;
  readonly purpose: "server" | "client";
  readonly hosts?: readonly string[];
  readonly now: number;
}

/** Issues a key and a certificate that is valid for a year, but not longer than the CA. */
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

class PkiError extends Error {
  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.name = "PkiError";
  }
}

/** Reads a file. Undefined if it does not exist; any other failure is an error. */
async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new PkiError(path, messageOf(error));
  }
}

/** Loads a private key, or creates it if the file does not exist. Existing files are never overwritten. */
export async function loadOrCreateKey(path: string): Promise<KeyObject> {
  const pem = await readIfPresent(path);
  if (pem !== undefined) return parseKey(path, pem);
  const key = generateKey();
  await writeFileDurably(path, keyToPem(key), { mode: 0o600, existing: "keep" });
  return key;
}

function parseKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // The parser's message is dropped, because it could quote the key.
    throw new PkiError(path, "is not a private key in PEM; restore it from a backup or move it away");
  }
}

function parseCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new PkiError(path, "is not a certificate in PEM; restore it from a backup or move it away");
  }
}

/** Reads `NAME.crt` and `NAME.key`. Undefined if one is missing or the key does not match the certificate. */
export async function readKeyPair(directory: string, name: string): Promise<KeyPair | undefined> {
  const [cert, key] = await Promise.all([
    readIfPresent(join(directory, `${name}.crt`)),
    readIfPresent(join(directory, `${name}.key`)),
  ]);
  if (cert === undefined || key === undefined) return undefined;
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)) ? { cert, key } : undefined;
  } catch {
    return undefined;
  }
}

export async function writeKeyPair(directory: string, name: string, { cert, key }: KeyPair): Promise<void> {
  await Promise.all([
    writeFileDurably(join(directory, `${name}.key`), key, { mode: 0o600, existing: "replace" }),
    writeFileDurably(join(directory, `${name}.crt`), cert, { mode: 0o644, existing: "replace" }),
  ]);
}
