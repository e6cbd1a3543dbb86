import type { KubeObject } from "../../api/objects.ts";

/**
 * What every namespace holds from the moment it exists: without a service account no pod can be created in it, and
 * without the CA no pod can trust the API. Written with the namespace, so that nobody has to wait for a controller.
 */
export function namespaceDefaults(namespace: string, rootCa: string): KubeObject[] {
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "kube-root-ca.crt", namespace },
      data: { "ca.crt": rootCa },
    } as KubeObject,
  ];
}
