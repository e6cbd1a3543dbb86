import {
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
} from "../../client/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { accountName, type DefaultsAction, decideDefaults, rootCaName } from "./decide-defaults.ts";

/** Keeps the default service account and the CA in every namespace. */
export async function runServiceAccountController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, rootCa } = context;
  const publisher = context.clientAs("root-ca-cert-publisher");
  const namespaces = informers.of("namespaces");
  const accounts = informers.of("serviceaccounts");
  const configMaps = informers.of("configmaps");

  async function act(action: DefaultsAction): Promise<unknown> {
    switch (action.kind) {
      case "createAccount":
        return client.create("serviceaccounts", action.account, { signal });
      case "createRootCa":
        return publisher.create("configmaps", action.configMap, { signal });
      case "updateRootCa":
        return publisher.update("configmaps", action.configMap, { signal });
    }
  }

  async function reconcile(name: string): Promise<Reconciled> {
    const actions = decideDefaults({
      namespace: namespaces.get(name),
      account: accounts.get(`${name}/${accountName}`),
      rootCaMap: configMaps.get(`${name}/${rootCaName}`),
      rootCa,
    });
    for (const action of actions) {
      await act(action).catch((error) => {
        // Somebody was faster, or the namespace goes: its events come here too.
        if (isAlreadyExists(error) || isConflict(error)) return;
        if (!isNotFound(error) && !isNamespaceTerminating(error)) throw error;
      });
    }
    return undefined;
  }

  await runController(
    context,
    {
      name: "service-account",
      watch(queue) {
        namespaces.onChange(({ kind, object: { metadata } }) => {
          if (kind !== "deleted") queue.add(metadata.name ?? "");
        });
        accounts.onChange(({ kind, object: { metadata } }) => {
          if (kind === "deleted" && metadata.name === accountName) queue.add(metadata.namespace ?? "");
        });
        configMaps.onChange(({ kind, object: { metadata } }) => {
          if (kind !== "added" && metadata.name === rootCaName) queue.add(metadata.namespace ?? "");
        });
      },
      reconcile,
    },
    signal,
  );
}
