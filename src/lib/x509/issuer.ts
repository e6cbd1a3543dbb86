// On Node 20, loading the object form of a certificate first leaves `tls` without createSecureContext.
import { createHash, createPublicKey, type KeyObject, type X509Certificate } from "node:crypto";
import { type Element, objectId, readElements, sequence, set, utf8String } from "./der.ts";
import "node:tls";

export interface Subject {
  readonly commonName: string;
  /** Groups of a client. */
  readonly organizations?: readonly string[];
}

/** Signer of certificates. */
export interface Issuer {
  /** DER of the issuer's name, byte for byte as in its own certificate. */
  readonly name: Buffer;
  readonly keyId: Buffer;
  readonly privateKey: KeyObject;
}

/** Issuer of a self-signed certificate. */
export function selfIssuer(subject: Subject, privateKey: KeyObject): Issuer {
  return { name: encodeName(subject), keyId: keyIdOf(createPublicKey(privateKey)), privateKey };
}

/** Issuer of a CA certificate, which may have been created by another program. */
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

/** SHA-1 of the public key bits, as RFC 5280 proposes. Used as an identifier only. */
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

/** Subject of a certificate; undefined when it has no common name. */
export function subjectOf(certificate: X509Certificate): Required<Subject> | undefined {
  // The object form, because in the text form a crafted name could be parsed as two.
  const { CN, O }: Record<string, string | string[] | undefined> = {
    ...certificate.toLegacyObject().subject,
  };
  const commonName = [CN ?? ""].flat().at(-1);
  return commonName ? { commonName, organizations: [O ?? []].flat() } : undefined;
}
