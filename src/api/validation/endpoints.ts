import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  portNumberProblems,
  qualifiedNameProblems,
} from "../names.ts";
import type { Wire } from "../objects.ts";
import { protocols } from "./container.ts";
import { ipProblems } from "./ip.ts";
import { Report } from "./report.ts";

type Endpoints = Wire<k8s.V1Endpoints>;

export function validateEndpoints({ subsets }: Endpoints): FieldError[] {
  const at = new Report("");
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

/** Addresses that were stored under older rules may stay. */
export function validateEndpointsUpdate(next: Endpoints, current: Endpoints): FieldError[] {
  return isEqual(next.subsets, current.subsets) ? [] : validateEndpoints(next);
}

function validateAddress({ ip, hostname, nodeName }: k8s.V1EndpointAddress, at: Report): void {
  const problems = ipProblems(ip);
  at.problems("ip", ip, problems);
  if (hostname) at.problems("hostname", hostname, dnsLabelProblems(hostname));
  if (nodeName !== undefined) at.problems("nodeName", nodeName, dnsSubdomainProblems(nodeName));
  at.problems("ip", ip, problems.length === 0 ? endpointIpProblems(ip) : ["must be a valid IP address"]);
}

/** Addresses that mean something else on every machine are nobody's endpoint. */
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
