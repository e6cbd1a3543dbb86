import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../names.ts";
import type { Wire } from "../objects.ts";
import { protocols } from "./container.ts";
import { endpointIpProblems } from "./endpoints.ts";
import { canonicalIpProblems, ipFamilyOf, ipProblems } from "./ip.ts";
import { Report } from "./report.ts";

type EndpointSlice = Wire<k8s.V1EndpointSlice>;

const maxEndpoints = 1000;
const maxAddresses = 100;
const maxPorts = 20_000;
const maxHints = 8;

export function validateEndpointSlice(slice: EndpointSlice, current?: EndpointSlice): FieldError[] {
  const at = new Report("");
  const { addressType, ports, endpoints = [] } = slice;
  at.requiredOneOf("addressType", addressType, ["FQDN", "IPv4", "IPv6"]);
  if (ports) validatePorts(ports, at);
  if (endpoints.length > maxEndpoints) at.tooMany("endpoints", endpoints.length, maxEndpoints);
  else if (!current || !isEqual(endpoints, current.endpoints)) {
    at.each("endpoints", endpoints, (endpoint, place) => validateEndpoint(endpoint, place, addressType));
  }
  return at.errors;
}

export function validateEndpointSliceUpdate(next: EndpointSlice, current: EndpointSlice): FieldError[] {
  const at = new Report("", validateEndpointSlice(next, current));
  if (next.addressType !== current.addressType) {
    at.invalid("addressType", next.addressType, "field is immutable");
  }
  return at.errors;
}

function validatePorts(ports: k8s.DiscoveryV1EndpointPort[], at: Report): void {
  if (ports.length > maxPorts) {
    at.tooMany("ports", ports.length, maxPorts);
    return;
  }
  const names = new Set<string>();
  at.each("ports", ports, ({ name = "", protocol, appProtocol }, place) => {
    if (name) place.problems("name", name, dnsLabelProblems(name));
    if (names.has(name)) place.duplicate("name", name);
    names.add(name);
    place.requiredOneOf("protocol", protocol, protocols);
    if (appProtocol !== undefined) {
      place.problems("appProtocol", appProtocol, qualifiedNameProblems(appProtocol));
    }
  });
}

function validateEndpoint(endpoint: k8s.V1Endpoint, at: Report, addressType: string): void {
  const { addresses = [], nodeName, hostname, hints } = endpoint;
  if (addresses.length === 0) at.required("addresses", "must contain at least 1 address");
  else if (addresses.length > maxAddresses) at.tooMany("addresses", addresses.length, maxAddresses);
  at.each("addresses", addresses, (address, place) => {
    if (addressType === "FQDN") validateFqdn(address, place);
    else if (addressType === "IPv4" || addressType === "IPv6") {
      validateIp(address, place, addressType);
      // Upstream does not say which of them it is.
      if (ipProblems(address).length === 0 && ipFamilyOf(address) !== addressType)
        at.invalid("addresses", address, `must be an ${addressType} address`);
    }
  });
  if (nodeName !== undefined) at.problems("nodeName", nodeName, dnsSubdomainProblems(nodeName));
  if (hostname !== undefined) at.problems("hostname", hostname, dnsLabelProblems(hostname));
  if (!hints) return;
  validateHints("hints.forZones", hints.forZones, at, labelValueProblems);
  validateHints("hints.forNodes", hints.forNodes, at, dnsSubdomainProblems);
}

function validateIp(address: string, at: Report, family: "IPv4" | "IPv6"): void {
  const problems = family === "IPv4" ? ipProblems(address) : canonicalIpProblems(address);
  if (problems.length > 0) {
    at.problems("", address, problems);
    return;
  }
  at.problems("", address, endpointIpProblems(address));
}

function validateFqdn(address: string, at: Report): void {
  if (!address) {
    at.required("");
    return;
  }
  const name = address.replace(/\.$/, "");
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) at.invalid("", name, problems.join(","));
  else if (!name.includes(".")) {
    at.invalid("", name, "should be a domain with at least two segments separated by dots");
  }
}

function validateHints(
  field: string,
  hints: { name: string }[] = [],
  at: Report,
  problemsOf: (name: string) => readonly string[],
): void {
  if (hints.length > maxHints) {
    at.tooMany(field, hints.length, maxHints);
    return;
  }
  hints.forEach(({ name }, i) => {
    if (hints.findIndex((hint) => hint.name === name) < i) at.duplicate(`${field}[${i}].name`, name);
    at.problems(`${field}[${i}].name`, name, problemsOf(name));
  });
}
