import type { KubeObject } from "../../api/objects.ts";
import { apiServiceAddress } from "../service/service-claims.ts";
import { systemPriorityClasses } from "../strategy/priority-class.ts";

const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** What a cluster has from its first moment, beside the RBAC policy. */
export function clusterObjects(port: number): KubeObject[] {
  const namespaces = systemNamespaces.map((name) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  }));
  return [
    ...namespaces,
    apiService(port),
    ...systemPriorityClasses.map((priorityClass) => structuredClone(priorityClass)),
  ];
}

export function apiService(port: number): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "kubernetes",
      namespace: "default",
      labels: { component: "apiserver", provider: "kubernetes" },
    },
    spec: {
      clusterIP: apiServiceAddress,
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
    },
  } as KubeObject;
}

/** Where the `kubernetes` service leads: kept current, for the server's port may change from run to run. */
export function apiEndpointSlice({ address, port }: { address: string; port: number }): KubeObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: "kubernetes",
      namespace: "default",
      labels: { "kubernetes.io/service-name": "kubernetes" },
    },
    addressType: address.includes(":") ? "IPv6" : "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "https", port, protocol: "TCP" }],
  } as KubeObject;
}
