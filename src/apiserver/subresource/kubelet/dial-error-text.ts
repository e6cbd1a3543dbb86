import { isIP } from "node:net";
import type { KubeletEndpoint } from "./kubelet-location.ts";

/** What Go calls the ways in which a connection fails: people search the web for these words. */
const connectTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "i/o timeout",
};

const unknownAuthority = "x509: certificate signed by unknown authority";
const certificateTexts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "x509: certificate has expired or is not yet valid",
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
};

export function dialErrorText(error: Error & { code?: string }, endpoint: KubeletEndpoint): string {
  const { code = "" } = error;
  const connect = connectTexts[code];
  if (connect) return `dial tcp ${formatEndpoint(endpoint)}: ${connect}`;
  if (code === "ENOTFOUND") return `dial tcp: lookup ${endpoint.host}: no such host`;
  const certificate = certificateTexts[code];
  if (certificate) return `tls: failed to verify certificate: ${certificate}`;
  // A connection that ends before the answer.
  if (code === "ECONNRESET") return "EOF";
  return error.message;
}

export function formatEndpoint({ host, port }: KubeletEndpoint): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
