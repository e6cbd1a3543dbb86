import { isIP } from "node:net";

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Texts of connection errors as Go words them, because users search for these. */
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

export function dialErrorText(error: Error & { code?: string }, endpoint: Endpoint): string {
  const { code = "" } = error;
  const connect = connectTexts[code];
  if (connect) return `dial tcp ${formatEndpoint(endpoint)}: ${connect}`;
  if (code === "ENOTFOUND") return `dial tcp: lookup ${endpoint.host}: no such host`;
  const certificate = certificateTexts[code];
  if (certificate) return `tls: failed to verify certificate: ${certificate}`;
  // The connection was closed before a response.
  if (code === "ECONNRESET") return "EOF";
  return error.message;
}

export function formatEndpoint({ host, port }: Endpoint): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
