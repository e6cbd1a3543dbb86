import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import { validateSecret, validateSecretUpdate } from "../../api/validation/config.ts";
import type { Strategy } from "./strategy.ts";

export const secretStrategy: Strategy<KubeObject & Wire<k8s.V1Secret>> = {
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

  selectableFields: { type: (secret) => secret.type ?? "" },
};
