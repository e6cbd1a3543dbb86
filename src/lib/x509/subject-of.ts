import type { X509Certificate } from "node:crypto";
// Node 20 leaves `tls` without createSecureContext where a certificate's object form is what loads it first.
import "node:tls";
import type { Subject } from "./issuer.ts";

/** Whom a certificate is for; undefined when it has no common name. */
export function subjectOf(certificate: X509Certificate): Required<Subject> | undefined {
  // The object form: in the text form a hostile name could pass for two.
  const { CN, O }: Record<string, string | string[] | undefined> = {
    ...certificate.toLegacyObject().subject,
  };
  const commonName = [CN ?? ""].flat().at(-1);
  return commonName ? { commonName, organizations: [O ?? []].flat() } : undefined;
}
