import type { ServiceAccount } from "../../../meta/objects.ts";
import { ageColumn, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

const strategy: Strategy<ServiceAccount> = {
  returnsDeletedObject: true,
  prepareForCreate: keepSecretNames,
  prepareForUpdate: keepSecretNames,
};

export const serviceAccountKind = defineKind<ServiceAccount>({
  resource: {
    group: "",
    version: "v1",
    plural: "serviceaccounts",
    kind: "ServiceAccount",
    shortNames: ["sa"],
  },
  subresources: ["token"],
  strategy,
  columns: [nameColumn, ageColumn],
});

/** Drops everything but the names from references to secrets. */
function keepSecretNames(account: ServiceAccount): void {
  if (account.secrets) account.secrets = account.secrets.map(({ name }) => ({ name }));
}
