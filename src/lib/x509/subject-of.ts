import type { X509Certificate } from "node:crypto";
// On Node 20, loading the object form of a certificate first leaves `tls` without createSecureContext.
import "node:tls";
import type { Subject } from "./issuer.ts";

/** Subject of a certificate; undefined when it has no common name. */
export function subjectOf(certificate: X509Certificate): Required<Subject> | undefined {
  // The object form, because in the text form a crafted name could be parsed as two.
  const { CN, O }: Record<string, string | string[] | undefined> = {
    ...certificate.toLegacyObject().subject,
  };
  const commonName = [CN ?? ""].flat().at(-1);
  return commonName ? { commonName, organizations: [O ?? []].flat() } : undefined;
}
