import type { EndpointSlice, KubeObject, Pod, Service } from "../../api/meta/objects.ts";
import { createObjectCache } from "../../client/informers/object-cache.ts";
import {
  createRecordView,
  podIndexes,
  type RecordView,
  serviceIndexes,
  sliceIndexes,
} from "./record-view.ts";

let version = 0;
const metadata = (namespace: string, name: string, labels?: Record<string, string>) => ({
  namespace,
  name,
  uid: `uid-${namespace}-${name}`,
  resourceVersion: String(++version),
  ...(labels && { labels }),
});

/** Service `NAMESPACE/NAME` with the given spec. */
export function makeService(key: string, spec: Service["spec"]): Service {
  const [namespace = "", name = ""] = key.split("/");
  return { apiVersion: "v1", kind: "Service", metadata: metadata(namespace, name), spec };
}

type SliceParts = Partial<Pick<EndpointSlice, "endpoints" | "ports" | "addressType">>;

/** EndpointSlice of the service `NAMESPACE/NAME`. */
export function makeSlice(key: string, { endpoints = [], ...parts }: SliceParts): EndpointSlice {
  const [namespace = "", name = ""] = key.split("/");
  const labels = { "kubernetes.io/service-name": name };
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: metadata(namespace, `${name}-${version}`, labels),
    addressType: "IPv4",
    endpoints,
    ...parts,
  };
}

/** Pod `NAMESPACE/NAME` with the given addresses. */
export function makePod(key: string, ips: readonly string[], phase = "Running"): Pod {
  const [namespace = "", name = ""] = key.split("/");
  const status = { phase, podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) };
  return { apiVersion: "v1", kind: "Pod", metadata: metadata(namespace, name), status };
}

export function viewOf(objects: readonly KubeObject[]): RecordView {
  const services = createObjectCache<Service>(serviceIndexes, () => {});
  const slices = createObjectCache<EndpointSlice>(sliceIndexes, () => {});
  const pods = createObjectCache<Pod>(podIndexes, () => {});
  for (const object of objects) {
    if (object.kind === "Service") services.put(object as Service);
    else if (object.kind === "EndpointSlice") slices.put(object as EndpointSlice);
    else pods.put(object as Pod);
  }
  return createRecordView({ services, slices, pods });
}
