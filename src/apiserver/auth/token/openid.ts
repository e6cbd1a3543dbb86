import type { SigningKey } from "./signing-key.ts";

export const openidConfigurationPath = "/.well-known/openid-configuration";
export const jwksPath = "/openid/v1/jwks";

/** `server` is the address under which others reach this server: `https://10.0.0.1:6443`. */
export function openidConfiguration({ issuer, server }: { issuer: string; server: string }): object {
  return {
    issuer,
    jwks_uri: `${server}${jwksPath}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  };
}

export function jwks(keys: readonly SigningKey[]): object {
  return {
    keys: keys.map(({ id, publicKey }) => {
      const { kty, crv, x, y } = publicKey.export({ format: "jwk" });
      return { use: "sig", kty, kid: id, crv, alg: "ES256", x, y };
    }),
  };
}
