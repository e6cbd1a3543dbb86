import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateSecret, validateSecretUpdate } from "../../api/validation/config.ts";
import { keyPairProblem } from "../../api/validation/key-pair.ts";
import type { Strategy } from "./strategy.ts";

type Secret = KubeObject & Wire<k8s.V1Secret>;

export const secretStrategy: Strategy<Secret> = {
  applyDefaults(secret) {
    secret.type ||= "Opaque";
    // Plain text is for writing only.
    for (const [key, value] of Object.entries(secret.stringData ?? {})) {
      secret.data ??= {};
      secret.data[key] = Buffer.from(value).toString("base64");
    }
    delete secret.stringData;
  },

  validate: validateSecret,
  validateUpdate: validateSecretUpdate,

  warnings: tlsWarnings,

  selectableFields: { type: (secret) => secret.type ?? "" },
};

/** A certificate and a key that do not belong together may be stored, and serve nobody. */
function tlsWarnings({ type, data = {} }: Secret): string[] {
  if (type !== "kubernetes.io/tls") return [];
  const decode = (text = "") => Buffer.from(text, "base64").toString();
  const problem = keyPairProblem(decode(data["tls.crt"]), decode(data["tls.key"]));
  return problem ? [problem] : [];
}
