import { isIPv4 } from "node:net";
import type { EndpointSlice, Service } from "../../api/meta/objects.ts";
import { canonicalAddress, dashedAddress } from "./addresses.ts";

/** Address of a ready endpoint with the name and ports under which DNS publishes it. */
export interface EndpointRecord {
  readonly address: string;
  readonly type: "A" | "AAAA";
  /** Host name of the endpoint, or a label derived from its address. */
  readonly hostname: string;
  readonly ports: readonly PortRecord[];
}

export interface PortRecord {
  /** Empty for an unnamed port, which has no name in DNS. */
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
}

/** Ready endpoints of a service, each address once. `publishNotReadyAddresses` makes all of them ready. */
export function readyEndpoints(service: Service, slices: readonly EndpointSlice[]): EndpointRecord[] {
  const all = service.spec?.publishNotReadyAddresses === true;
  const found = new Map<string, EndpointRecord>();
  for (const { endpoints, ports, addressType } of slices) {
    if (addressType === "FQDN") continue;
    for (const { addresses, conditions, hostname } of endpoints ?? []) {
      // As upstream, an unknown condition counts as ready.
      if (!all && conditions?.ready === false) continue;
      for (const text of addresses) {
        const address = canonicalAddress(text);
        if (address === undefined) continue;
        const known = found.get(`${address} ${hostname ?? ""}`);
        found.set(`${address} ${hostname ?? ""}`, {
          address,
          type: addressRecordType(address),
          hostname: hostname?.toLowerCase() || dashedAddress(address),
          // An endpoint whose ports differ from those of the others is in several slices.
          ports: [...(known?.ports ?? []), ...portRecords(ports)],
        });
      }
    }
  }
  return [...found.values()];
}

export function addressRecordType(address: string): "A" | "AAAA" {
  return isIPv4(address) ? "A" : "AAAA";
}

export function portRecords(
  ports: readonly { readonly name?: string; readonly protocol?: string; readonly port?: number }[] = [],
): PortRecord[] {
  return ports.flatMap(({ name = "", protocol = "TCP", port }) =>
    port === undefined ? [] : [{ name: name.toLowerCase(), protocol: protocol.toLowerCase(), port }],
  );
}
