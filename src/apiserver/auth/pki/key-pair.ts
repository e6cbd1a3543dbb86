import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../lib/message-of.ts";
import { generateKey, type KeyPair, keyToPem } from "../../../lib/x509/key.ts";
import { writeFileAtomically } from "./write-file.ts";

export class PkiError extends Error {
  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.name = "PkiError";
  }
}

/** The text of a file; undefined when there is none. A file that cannot be read is an error, not a missing one. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new PkiError(path, messageOf(error));
  }
}

/** The private key in a file, which is made when missing and never overwritten. */
export async function loadOrCreateKey(path: string): Promise<KeyObject> {
  const pem = await readIfPresent(path);
  if (pem !== undefined) return parseKey(path, pem);
  const key = generateKey();
  await writeFileAtomically(path, keyToPem(key), { mode: 0o600, existing: "keep" });
  return key;
}

function parseKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // What the parser says could quote the key.
    throw new PkiError(path, "is not a private key in PEM; restore it from a backup or move it away");
  }
}

export function parseCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new PkiError(path, "is not a certificate in PEM; restore it from a backup or move it away");
  }
}

/** `NAME.crt` and `NAME.key`; undefined when one is missing or they do not belong together. */
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
    writeFileAtomically(join(directory, `${name}.key`), key, { mode: 0o600, existing: "replace" }),
    writeFileAtomically(join(directory, `${name}.crt`), cert, { mode: 0o644, existing: "replace" }),
  ]);
}
