import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { bitString, contextTag, integer, isTrue, objectId, octetString, sequence, time } from "./der.ts";
import { encodeName, type Issuer, keyIdOf, type Subject, selfIssuer } from "./issuer.ts";

interface CertificateRequest {
  readonly subject: Subject;
  readonly publicKey: KeyObject;
  readonly purpose: "ca" | "server" | "client";
  /** DNS names and IP addresses. */
  readonly hosts?: readonly string[];
  readonly notBefore: number;
  readonly notAfter: number;
}

const oid = {
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  rsaWithSha256: "1.2.840.113549.1.1.11",
} as const;

/** Creates an X.509 v3 certificate as PEM. */
export function signCertificate(request: CertificateRequest, issuer: Issuer): string {
  const algorithm = signatureAlgorithm(issuer.privateKey);
  const body = sequence(
    contextTag(0, integer(Buffer.from([2])), "constructed"),
    integer(serialNumber()),
    algorithm,
    issuer.name,
    sequence(time(request.notBefore), time(request.notAfter)),
    encodeName(request.subject),
    request.publicKey.export({ type: "spki", format: "der" }),
    contextTag(3, sequence(...extensions(request, issuer)), "constructed"),
  );
  const signature = sign("sha256", body, issuer.privateKey);
  return toPem(sequence(body, algorithm, bitString(signature)));
}

function extensions({ purpose, publicKey, hosts = [] }: CertificateRequest, issuer: Issuer): Buffer[] {
  const isCa = purpose === "ca";
  const list = [
    extension(oid.basicConstraints, isCa ? sequence(isTrue()) : sequence(), "critical"),
    // digitalSignature, and for a CA keyCertSign and cRLSign.
    extension(oid.keyUsage, isCa ? bitString(Buffer.of(0x86), 1) : bitString(Buffer.of(0x80), 7), "critical"),
    extension(oid.subjectKeyId, octetString(keyIdOf(publicKey))),
    extension(oid.authorityKeyId, sequence(contextTag(0, issuer.keyId, "primitive"))),
  ];
  if (!isCa) {
    const usage = purpose === "server" ? oid.serverAuth : oid.clientAuth;
    list.push(extension(oid.extendedKeyUsage, sequence(objectId(usage))));
  }
  if (hosts.length > 0) list.push(extension(oid.subjectAltName, sequence(...hosts.map(encodeHost))));
  return list;
}

function extension(id: string, value: Uint8Array, importance?: "critical"): Buffer {
  return sequence(objectId(id), ...(importance ? [isTrue()] : []), octetString(value));
}

function encodeHost(host: string): Buffer {
  return isIP(host)
    ? contextTag(7, addressBytes(host), "primitive")
    : contextTag(2, Buffer.from(host), "primitive");
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  // URL normalizes an IPv6 address, so only `::` has to be expanded.
  const [head = "", tail] = new URL(`http://[${address.replace(/%.*/, "")}]`).hostname
    .slice(1, -1)
    .split("::");
  const groups = (text = "") => text.split(":").filter(Boolean);
  const zeros = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array(zeros).fill("0"), ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}

function signatureAlgorithm(key: KeyObject): Buffer {
  switch (key.asymmetricKeyType) {
    case "ec":
      return sequence(objectId(oid.ecdsaWithSha256));
    case "rsa":
      return sequence(objectId(oid.rsaWithSha256), Buffer.of(0x05, 0x00));
    default:
      throw new Error(`cannot sign certificates with a key of type ${key.asymmetricKeyType}`);
  }
}

/** Positive serial number with 127 random bits. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x3f) | 0x40, 0);
  return bytes;
}

function toPem(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replace(/.{1,64}/g, "$&\n")}-----END CERTIFICATE-----\n`;
}

/** A certificate and its private key, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export function generateKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;
}

export function keyToPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

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
