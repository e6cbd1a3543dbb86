import type { ConfigMap, Namespace, ServiceAccount } from "../../api/meta/objects.ts";
import {
  isAlreadyExists,
  isConflict,
  isNamespaceTerminating,
  isNotFound,
} from "../../client/transport/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";

/** Keeps the default service account and the root CA config map in every namespace until the signal aborts. */
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
        // Created concurrently, or the namespace terminates: both changes requeue it.
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

const rootCaName = "kube-root-ca.crt";
const accountName = "default";

interface DefaultsFacts {
  readonly namespace: Namespace | undefined;
  readonly account: ServiceAccount | undefined;
  readonly rootCaMap: ConfigMap | undefined;
  /** CA bundle of the API server. Undefined if it is not published. */
  readonly rootCa: string | undefined;
}

type DefaultsAction =
  | { readonly kind: "createAccount"; readonly account: ServiceAccount }
  | { readonly kind: "createRootCa"; readonly configMap: ConfigMap }
  | { readonly kind: "updateRootCa"; readonly configMap: ConfigMap };

/** Decides which default objects of a namespace have to be written. */
export function decideDefaults({ namespace, account, rootCaMap, rootCa }: DefaultsFacts): DefaultsAction[] {
  if (!namespace || namespace.metadata.deletionTimestamp || namespace.status?.phase === "Terminating")
    return [];
  const home = namespace.metadata.name;
  const actions: DefaultsAction[] = [];
  if (!account) {
    const metadata = { name: accountName, namespace: home };
    actions.push({ kind: "createAccount", account: { apiVersion: "v1", kind: "ServiceAccount", metadata } });
  }
  if (rootCa === undefined) return actions;
  const data = { "ca.crt": rootCa };
  if (!rootCaMap) {
    const metadata = { name: rootCaName, namespace: home, annotations: { [description]: purpose } };
    actions.push({
      kind: "createRootCa",
      configMap: { apiVersion: "v1", kind: "ConfigMap", metadata, data },
    });
  } else if (!hasOnlyRootCa(rootCaMap.data, rootCa)) {
    const annotations = { ...rootCaMap.metadata.annotations, [description]: purpose };
    const metadata = { ...rootCaMap.metadata, annotations };
    actions.push({ kind: "updateRootCa", configMap: { ...rootCaMap, metadata, data } });
  }
  return actions;
}

function hasOnlyRootCa(data: ConfigMap["data"] = {}, rootCa: string): boolean {
  return data["ca.crt"] === rootCa && Object.keys(data).length === 1;
}

const description = "kubernetes.io/description";
const purpose =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
  "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes " +
  "clusters.";
