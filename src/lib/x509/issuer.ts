import { createHash, createPublicKey, type KeyObject, type X509Certificate } from "node:crypto";
import { type Element, objectId, readElements, sequence, set, utf8String } from "./der.ts";

export interface Subject {
  readonly commonName: string;
  /** Become the groups of a client. */
  readonly organizations?: readonly string[];
}

/** Whoever signs certificates. */
export interface Issuer {
  /** The DER of the issuer's name, byte for byte as in its own certificate. */
  readonly name: Buffer;
  readonly keyId: Buffer;
  readonly privateKey: KeyObject;
}

/** The issuer of a self-signed certificate. */
export function selfIssuer(subject: Subject, privateKey: KeyObject): Issuer {
  return { name: encodeName(subject), keyId: keyIdOf(createPublicKey(privateKey)), privateKey };
}

/** The issuer that a CA certificate stands for; it need not have been made here. */
export function issuerOf(certificate: X509Certificate, privateKey: KeyObject): Issuer {
  const [body] = children(children({ content: certificate.raw })[0]);
  const fields = children(body);
  const name = fields[5]?.raw;
  if (!name) throw new Error("the certificate has no subject");
  return { name, keyId: subjectKeyId(fields) ?? keyIdOf(certificate.publicKey), privateKey };
}

export function encodeName({ commonName, organizations = [] }: Subject): Buffer {
  const attribute = (id: string, value: string) => set(sequence(objectId(id), utf8String(value)));
  return sequence(
    ...organizations.map((organization) => attribute("2.5.4.10", organization)),
    attribute("2.5.4.3", commonName),
  );
}

/** The SHA-1 of the bits of the public key, as RFC 5280 proposes: a name, not a protection. */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const [spki] = readElements(publicKey.export({ type: "spki", format: "der" }));
  const bits = children(spki)[1]?.content.subarray(1) ?? Buffer.of();
  return createHash("sha1").update(bits).digest();
}

function subjectKeyId(fields: readonly Element[]): Buffer | undefined {
  const extensions = children(children(fields.find((field) => field.tag === 0xa3))[0]);
  const wanted = objectId("2.5.29.14");
  const found = extensions.map(children).find(([id]) => id?.raw.equals(wanted));
  return children(found?.at(-1))[0]?.content;
}

function children(element: Pick<Element, "content"> | undefined): Element[] {
  return element ? readElements(element.content) : [];
}
