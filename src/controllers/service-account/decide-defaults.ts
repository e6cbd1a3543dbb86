import type { ConfigMap, Namespace, ServiceAccount } from "../../api/objects.ts";

export const rootCaName = "kube-root-ca.crt";
export const accountName = "default";

interface DefaultsFacts {
  readonly namespace: Namespace | undefined;
  readonly account: ServiceAccount | undefined;
  readonly rootCaMap: ConfigMap | undefined;
  /** Undefined where nobody said what it is. */
  readonly rootCa: string | undefined;
}

export type DefaultsAction =
  | { readonly kind: "createAccount"; readonly account: ServiceAccount }
  | { readonly kind: "createRootCa"; readonly configMap: ConfigMap }
  | { readonly kind: "updateRootCa"; readonly configMap: ConfigMap };

/** What a namespace lacks of what every one has. */
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
  } else if (!isJust(rootCaMap.data, rootCa)) {
    const annotations = { ...rootCaMap.metadata.annotations, [description]: purpose };
    const metadata = { ...rootCaMap.metadata, annotations };
    actions.push({ kind: "updateRootCa", configMap: { ...rootCaMap, metadata, data } });
  }
  return actions;
}

function isJust(data: ConfigMap["data"] = {}, rootCa: string): boolean {
  return data["ca.crt"] === rootCa && Object.keys(data).length === 1;
}

const description = "kubernetes.io/description";
const purpose =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " +
  "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes " +
  "clusters.";
