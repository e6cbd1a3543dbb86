import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../api/objects.ts";
import type { Strategy } from "./strategy.ts";

type ServiceAccount = KubeObject & Wire<k8s.V1ServiceAccount>;

export const serviceAccountStrategy: Strategy<ServiceAccount> = {
  prepareForCreate: keepSecretNames,
  prepareForUpdate: keepSecretNames,
};

/** Of a reference to a secret only the name means anything. */
function keepSecretNames(account: ServiceAccount): void {
  if (account.secrets) account.secrets = account.secrets.map(({ name }) => ({ name }));
}
