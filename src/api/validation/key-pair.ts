import { createPrivateKey, X509Certificate } from "node:crypto";

/** What keeps a certificate and a key, both PEM, from serving TLS; as Go words it, as far as we know what it is. */
export function keyPairProblem(certificate: string, key: string): string | undefined {
  if (!certificate.includes("-----BEGIN CERTIFICATE-----"))
    return "tls: failed to find any PEM data in certificate input";
  if (!/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(key))
    return "tls: failed to find any PEM data in key input";
  const parsed = parse(certificate, key);
  if (!parsed) return "tls: failed to parse private key";
  return parsed.certificate.checkPrivateKey(parsed.key)
    ? undefined
    : "tls: private key does not match public key";
}

function parse(certificate: string, key: string) {
  try {
    return { certificate: new X509Certificate(certificate), key: createPrivateKey(key) };
  } catch {
    return undefined;
  }
}
