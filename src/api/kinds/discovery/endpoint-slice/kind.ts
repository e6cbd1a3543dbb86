import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../../../meta/names.ts";
import type { EndpointSlice, KubeObject, Wire } from "../../../meta/objects.ts";
import { canonicalIpProblems, ipFamilyOf, ipProblems } from "../../../meta/validate-ip.ts";
import { protocols } from "../../../pod/validation/container.ts";
import { ageColumn, column, firstThree, nameColumn } from "../../columns.ts";
import { endpointIpProblems } from "../../core/endpoints/kind.ts";
import { defineKind } from "../../kind-definition.ts";
import { raiseGeneration, type Strategy, startGeneration } from "../../strategy.ts";

const maxEndpoints = 1000;
const maxAddresses = 100;
const maxPorts = 20_000;
const maxHints = 8;

function validateEndpointSlice(slice: EndpointSlice, current?: EndpointSlice): FieldError[] {
  const at = new FieldErrors("");
  const { addressType, ports, endpoints = [] } = slice;
  at.requiredOneOf("addressType", addressType, ["FQDN", "IPv4", "IPv6"]);
  if (ports) validatePorts(ports, at);
  if (endpoints.length > maxEndpoints) at.tooMany("endpoints", endpoints.length, maxEndpoints);
  else if (!current || !isEqual(endpoints, current.endpoints)) {
    at.each("endpoints", endpoints, (endpoint, place) => validateEndpoint(endpoint, place, addressType));
  }
  return at.errors;
}

function validateEndpointSliceUpdate(next: EndpointSlice, current: EndpointSlice): FieldError[] {
  const at = new FieldErrors("", validateEndpointSlice(next, current));
  if (next.addressType !== current.addressType) {
    at.invalid("addressType", next.addressType, "field is immutable");
  }
  return at.errors;
}

function validatePorts(ports: k8s.DiscoveryV1EndpointPort[], at: FieldErrors): void {
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

function validateEndpoint(endpoint: k8s.V1Endpoint, at: FieldErrors, addressType: string): void {
  const { addresses = [], nodeName, hostname, hints } = endpoint;
  if (addresses.length === 0) at.required("addresses", "must contain at least 1 address");
  else if (addresses.length > maxAddresses) at.tooMany("addresses", addresses.length, maxAddresses);
  at.each("addresses", addresses, (address, place) => {
    if (addressType === "FQDN") validateFqdn(address, place);
    else if (addressType === "IPv4" || addressType === "IPv6") {
      validateIp(address, place, addressType);
      // Upstream reports these errors without an index.
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

function validateIp(address: string, at: FieldErrors, family: "IPv4" | "IPv6"): void {
  const problems = family === "IPv4" ? ipProblems(address) : canonicalIpProblems(address);
  if (problems.length > 0) {
    at.problems("", address, problems);
    return;
  }
  at.problems("", address, endpointIpProblems(address));
}

function validateFqdn(address: string, at: FieldErrors): void {
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
  at: FieldErrors,
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

const strategy: Strategy<KubeObject & Wire<k8s.V1EndpointSlice>> = {
  applyDefaults({ ports }) {
    for (const port of ports ?? []) {
      port.name ??= "";
      port.protocol ??= "TCP";
    }
  },

  prepareForCreate: startGeneration,

  prepareForUpdate(next, current) {
    const { metadata: nextMeta, ...after } = next;
    const { metadata: currentMeta, ...before } = current;
    if (!isEqual(after, before) || !isEqual(nextMeta.labels, currentMeta.labels)) {
      raiseGeneration(next, current);
    }
  },

  validate: (next) => validateEndpointSlice(next),
  validateUpdate: validateEndpointSliceUpdate,
};

export const endpointSliceKind = defineKind<KubeObject & Wire<k8s.V1EndpointSlice>>({
  resource: { group: "discovery.k8s.io", version: "v1", plural: "endpointslices", kind: "EndpointSlice" },
  strategy,
  columns: [
    nameColumn,
    column("AddressType", "Kind of the addresses", ({ addressType }) => addressType ?? ""),
    column(
      "Ports",
      "Ports of every endpoint",
      ({ ports }) => firstThree((ports ?? []).map(({ port, name }) => `${port ?? name ?? "*"}`)) || "<unset>",
    ),
    column(
      "Endpoints",
      "Addresses of the endpoints",
      ({ endpoints }) => firstThree((endpoints ?? []).flatMap(({ addresses }) => addresses)) || "<unset>",
    ),
    ageColumn,
  ],
});
