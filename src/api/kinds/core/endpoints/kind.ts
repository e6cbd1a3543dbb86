import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  portNumberProblems,
  qualifiedNameProblems,
} from "../../../meta/names.ts";
import type { Endpoints } from "../../../meta/objects.ts";
import { ipProblems } from "../../../meta/validate-ip.ts";
import { protocols } from "../../../pod/validation/container.ts";
import { ageColumn, column, firstThree, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import type { Strategy } from "../../strategy.ts";

const strategy: Strategy<Endpoints> = {
  allowCreateOnUpdate: true,

  applyDefaults({ subsets }) {
    for (const { ports } of subsets ?? []) for (const port of ports ?? []) port.protocol ||= "TCP";
  },

  validate: validateEndpoints,
  validateUpdate: validateEndpointsUpdate,
};

export const endpointsKind = defineKind<Endpoints>({
  resource: {
    group: "",
    version: "v1",
    plural: "endpoints",
    singular: "endpoints",
    kind: "Endpoints",
    shortNames: ["ep"],
    deprecated: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  },
  strategy,
  columns: [
    nameColumn,
    column("Endpoints", "Addresses and ports behind the service", ({ subsets = [] }) =>
      subsets.length === 0 ? "<none>" : firstThree(subsets.flatMap(subsetAddresses)),
    ),
    ageColumn,
  ],
});

/** Every address with every port. A headless service may have no ports. */
function subsetAddresses({
  addresses = [],
  ports = [],
}: NonNullable<Endpoints["subsets"]>[number]): string[] {
  if (ports.length === 0) return addresses.map(({ ip }) => ip);
  return ports.flatMap(({ port }) =>
    addresses.map(({ ip }) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)),
  );
}

function validateEndpoints({ subsets }: Endpoints): FieldError[] {
  const at = new FieldErrors("");
  at.each("subsets", subsets, ({ addresses, notReadyAddresses, ports }, place) => {
    if (!addresses?.length && !notReadyAddresses?.length) {
      place.required("", "must specify `addresses` or `notReadyAddresses`");
    }
    place.each("addresses", addresses, validateAddress);
    place.each("notReadyAddresses", notReadyAddresses, validateAddress);
    place.each("ports", ports, (port, portPlace) => {
      if (port.name) portPlace.problems("name", port.name, dnsLabelProblems(port.name));
      else if ((ports?.length ?? 0) > 1) portPlace.required("name");
      portPlace.problems("port", port.port, portNumberProblems(port.port));
      portPlace.requiredOneOf("protocol", port.protocol, protocols);
      if (port.appProtocol !== undefined) {
        portPlace.problems("appProtocol", port.appProtocol, qualifiedNameProblems(port.appProtocol));
      }
    });
  });
  return at.errors;
}

/** Validates an update. Unchanged addresses are not validated, because older rules allowed more of them. */
function validateEndpointsUpdate(next: Endpoints, current: Endpoints): FieldError[] {
  return isEqual(next.subsets, current.subsets) ? [] : validateEndpoints(next);
}

function validateAddress({ ip, hostname, nodeName }: k8s.V1EndpointAddress, at: FieldErrors): void {
  const problems = ipProblems(ip);
  at.problems("ip", ip, problems);
  if (hostname) at.problems("hostname", hostname, dnsLabelProblems(hostname));
  if (nodeName !== undefined) at.problems("nodeName", nodeName, dnsSubdomainProblems(nodeName));
  at.problems("ip", ip, problems.length === 0 ? endpointIpProblems(ip) : ["must be a valid IP address"]);
}

/** Problems of an endpoint address, which must not be local to a machine. */
export function endpointIpProblems(address: string): string[] {
  const ip = address.toLowerCase();
  if (ip === "0.0.0.0" || ip === "::") return [`may not be unspecified (${address})`];
  if (ip.startsWith("127.") || ip === "::1") {
    return ["may not be in the loopback range (127.0.0.0/8, ::1/128)"];
  }
  if (ip.startsWith("169.254.") || /^fe[89ab]/.test(ip)) {
    return ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"];
  }
  if (ip.startsWith("224.0.0.") || ip.startsWith("ff02:")) {
    return ["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"];
  }
  return [];
}
