import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { portNameProblems, portNumberProblems } from "../../../meta/names.ts";
import type { NetworkPolicy } from "../../../meta/objects.ts";
import { cidrProblems, cidrWarnings, isStrictSubset } from "../../../meta/validate-ip.ts";
import { validateLabelSelector } from "../../../meta/validate-metadata.ts";
import { ageColumn, column, formatSelector, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";

type Peer = k8s.V1NetworkPolicyPeer;

const policyTypes = ["Ingress", "Egress"];
// The order in which upstream lists them here.
const protocols = ["TCP", "UDP", "SCTP"];

const strategy: Strategy<NetworkPolicy> = {
  applyDefaults({ spec }) {
    if (!spec) return;
    if (!spec.policyTypes?.length) {
      spec.policyTypes = spec.egress?.length ? ["Ingress", "Egress"] : ["Ingress"];
    }
    for (const { ports = [] } of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
      for (const port of ports) port.protocol ??= "TCP";
    }
  },

  prepareForCreate: startGeneration,
  prepareForUpdate: raiseGenerationOnSpecChange,
  validate,
  validateUpdate: validate,
  warnings: (next, { networkPolicyWarning }) => [
    ...(networkPolicyWarning === undefined ? [] : [networkPolicyWarning]),
    ...blockWarnings(next),
  ],
};

export const networkPolicyKind = defineKind<NetworkPolicy>({
  resource: {
    group: "networking.k8s.io",
    version: "v1",
    plural: "networkpolicies",
    kind: "NetworkPolicy",
    shortNames: ["netpol"],
  },
  strategy,
  columns: [
    nameColumn,
    column(
      "Pod-Selector",
      "Labels of the pods that the policy applies to",
      ({ spec }) => formatSelector(spec?.podSelector) || "<none>",
    ),
    ageColumn,
  ],
});

function validate({ spec }: NetworkPolicy): FieldError[] {
  const at = new FieldErrors("spec");
  validateLabelSelector(spec?.podSelector, at.child("podSelector"));
  at.each("ingress", spec?.ingress, ({ ports, from }, place) => {
    place.each("ports", ports, validatePort);
    place.each("from", from, validatePeer);
  });
  at.each("egress", spec?.egress, ({ ports, to }, place) => {
    place.each("ports", ports, validatePort);
    place.each("to", to, validatePeer);
  });
  const types = spec?.policyTypes ?? [];
  if (types.length > policyTypes.length) {
    at.invalid("policyTypes", types, "may not specify more than two policyTypes");
  } else {
    at.each("policyTypes", types, (type, place) => place.oneOf("", type, policyTypes));
  }
  return at.errors;
}

function validatePort({ protocol, port, endPort }: k8s.V1NetworkPolicyPort, at: FieldErrors): void {
  at.oneOf("protocol", protocol, protocols);
  if (port === undefined) {
    if (endPort !== undefined)
      at.invalid("endPort", endPort, "may not be specified when `port` is not specified");
    return;
  }
  if (typeof port === "string") {
    if (endPort !== undefined)
      at.invalid("endPort", endPort, "may not be specified when `port` is non-numeric");
    at.problems("port", port, portNameProblems(port));
    return;
  }
  at.problems("port", port, portNumberProblems(port));
  if (endPort === undefined) return;
  // Upstream shows the port in this message.
  if (endPort < port) at.invalid("endPort", port, "must be greater than or equal to `port`");
  at.problems("endPort", endPort, portNumberProblems(endPort));
}

function validatePeer({ podSelector, namespaceSelector, ipBlock }: Peer, at: FieldErrors): void {
  validateLabelSelector(podSelector, at.child("podSelector"));
  validateLabelSelector(namespaceSelector, at.child("namespaceSelector"));
  if (ipBlock) validateIpBlock(ipBlock, at.child("ipBlock"));
  if (!podSelector && !namespaceSelector && !ipBlock) at.required("", "must specify a peer");
  else if (ipBlock && (podSelector || namespaceSelector)) {
    at.forbidden("", "may not specify both ipBlock and another peer");
  }
}

function validateIpBlock({ cidr, except }: k8s.V1IPBlock, at: FieldErrors): void {
  if (!cidr) {
    at.required("cidr");
    return;
  }
  const problems = cidrProblems(cidr);
  at.problems("cidr", cidr, problems);
  if (problems.length > 0) return;
  at.each("except", except, (excepted, place) => {
    const exceptProblems = cidrProblems(excepted);
    place.problems("", excepted, exceptProblems);
    if (exceptProblems.length === 0 && !isStrictSubset(excepted, cidr)) {
      place.invalid("", excepted, "must be a strict subset of `cidr`");
    }
  });
}

function blockWarnings({ spec }: NetworkPolicy): string[] {
  const ofPeers = (path: string, peers: readonly Peer[] = []) =>
    peers.flatMap(({ ipBlock }, i) => {
      if (!ipBlock) return [];
      const place = `${path}[${i}].ipBlock`;
      const { cidr = "", except = [] } = ipBlock;
      return [
        ...cidrWarnings(`${place}.cidr`, cidr),
        ...except.flatMap((value, j) => cidrWarnings(`${place}.except[${j}]`, value)),
      ];
    });
  return [
    ...(spec?.ingress ?? []).flatMap(({ from }, i) => ofPeers(`spec.ingress[${i}].from`, from)),
    ...(spec?.egress ?? []).flatMap(({ to }, i) => ofPeers(`spec.egress[${i}].to`, to)),
  ];
}
