import type { EndpointSlice } from "../../api/meta/objects.ts";
import { canonicalAddress } from "./addresses.ts";
import { type RecordView, serviceNameLabel } from "./record-view.ts";
import { readyEndpoints } from "./service-endpoints.ts";

/**
 * Names of the address that a name below in-addr.arpa or ip6.arpa stands for: those of services with this cluster IP,
 * otherwise those of endpoints.
 */
export function reverseNames(view: RecordView, domain: string, labels: readonly string[]): string[] {
  const address = parseReverseName(labels);
  if (address === undefined) return [];
  const services = view.servicesAt(address);
  if (services.length > 0)
    return services.map(({ metadata: { name, namespace } }) => `${name}.${namespace}.svc.${domain}`);
  const names = view.slicesAt(address).flatMap((slice) => endpointNames(view, domain, { slice, address }));
  return [...new Set(names)];
}

function endpointNames(
  view: RecordView,
  domain: string,
  { slice, address }: { readonly slice: EndpointSlice; readonly address: string },
): string[] {
  const { namespace = "", labels } = slice.metadata;
  const service = view.service(namespace, labels?.[serviceNameLabel] ?? "");
  if (!service) return [];
  return readyEndpoints(service, [slice])
    .filter((endpoint) => endpoint.address === address)
    .map(({ hostname }) => `${hostname}.${service.metadata.name}.${namespace}.svc.${domain}`);
}

/** Parses the labels of a name below in-addr.arpa or ip6.arpa. Undefined unless it names a whole address. */
function parseReverseName(labels: readonly string[]): string | undefined {
  const [arpa, kind] = [labels.at(-1), labels.at(-2)];
  const parts = labels.slice(0, -2).reverse();
  if (arpa !== "arpa") return undefined;
  if (kind === "in-addr" && parts.length === 4) return canonicalAddress(parts.join("."));
  if (kind !== "ip6" || parts.length !== 32 || !parts.every((part) => /^[0-9a-f]$/.test(part)))
    return undefined;
  return canonicalAddress((parts.join("").match(/.{4}/g) ?? []).join(":"));
}
