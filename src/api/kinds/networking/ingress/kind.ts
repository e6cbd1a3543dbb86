import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  pathSegmentProblems,
  portNameProblems,
  portNumberProblems,
  wildcardDnsSubdomainProblems,
} from "../../../meta/names.ts";
import type { Ingress } from "../../../meta/objects.ts";
import { ipFamilyOf, ipProblems, ipWarnings } from "../../../meta/validate-ip.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";

function validateIngressCreate(ingress: Ingress, classAnnotation: string): FieldError[] {
  const errors = validateIngress(ingress);
  const annotation = ingress.metadata.annotations?.[classAnnotation];
  const className = ingress.spec?.ingressClassName;
  if (annotation !== undefined && className !== undefined && annotation !== className) {
    const detail = "must match `ingressClassName` when both are specified";
    new FieldErrors("annotations", errors).invalid(classAnnotation, annotation, detail);
  }
  return errors;
}

function validateIngress({ spec = {} }: Ingress): FieldError[] {
  const at = new FieldErrors("spec");
  const { rules, defaultBackend, tls, ingressClassName } = spec;
  if (!rules?.length && !defaultBackend) {
    at.invalid("", rules, "either `defaultBackend` or `rules` must be specified");
  }
  if (defaultBackend) validateBackend(defaultBackend, at.child("defaultBackend"));
  at.each("rules", rules, validateRule);
  at.each("tls", tls, ({ hosts, secretName }, place) => {
    place.each("hosts", hosts, (host, hostPlace) => hostPlace.problems("", host, hostProblems(host)));
    if (secretName) place.problems("secretName", secretName, dnsSubdomainProblems(secretName));
  });
  if (ingressClassName !== undefined) {
    at.problems("ingressClassName", ingressClassName, dnsSubdomainProblems(ingressClassName));
  }
  return at.errors;
}

function hostProblems(host: string): readonly string[] {
  return host.includes("*") ? wildcardDnsSubdomainProblems(host) : dnsSubdomainProblems(host);
}

function validateRule({ host, http }: k8s.V1IngressRule, at: FieldErrors): void {
  if (host) {
    if (ipFamilyOf(host)) at.invalid("host", host, "must be a DNS name, not an IP address");
    at.problems("host", host, hostProblems(host));
  }
  if (!http) return;
  if (!http.paths?.length) at.required("http.paths");
  at.each("http.paths", http.paths, validatePath);
}

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
const forbiddenSequences = ["//", "/./", "/../", "%2f", "%2F"];
const forbiddenSuffixes = ["/..", "/."];

function validatePath({ path = "", pathType, backend }: k8s.V1HTTPIngressPath, at: FieldErrors): void {
  if (pathType === undefined) {
    at.required("pathType", "pathType must be specified");
    return;
  }
  at.oneOf("pathType", pathType, pathTypes);
  const isMatched = pathType === "Exact" || pathType === "Prefix";
  const isOptional = pathType === "ImplementationSpecific" && path === "";
  if (pathTypes.includes(pathType) && !isOptional && !path.startsWith("/")) {
    at.invalid("path", path, "must be an absolute path");
  }
  if (isMatched) {
    for (const sequence of forbiddenSequences) {
      if (path.includes(sequence)) at.invalid("path", path, `must not contain '${sequence}'`);
    }
    for (const suffix of forbiddenSuffixes) {
      if (path.endsWith(suffix)) at.invalid("path", path, `cannot end with '${suffix}'`);
    }
  }
  validateBackend(backend ?? {}, at.child("backend"));
}

function validateBackend({ resource, service }: k8s.V1IngressBackend, at: FieldErrors): void {
  if (resource && service) at.invalid("", "", "cannot set both resource and service backends");
  else if (resource) validateResource(resource, at.child("resource"));
  else if (service) validateService(service, at);
  else at.invalid("", "", "resource or service backend is required");
}

function validateResource(reference: k8s.V1TypedLocalObjectReference, at: FieldErrors): void {
  const { apiGroup } = reference;
  if (apiGroup !== undefined) at.problems("apiGroup", apiGroup, dnsSubdomainProblems(apiGroup));
  for (const field of ["kind", "name"] as const) {
    if (!reference[field]) at.required(field);
    else at.problems(field, reference[field], pathSegmentProblems(reference[field]));
  }
}

function validateService({ name, port }: k8s.V1IngressServiceBackend, at: FieldErrors): void {
  if (!name) at.required("service.name");
  else at.problems("service.name", name, dnsLabelProblems(name));
  if (port?.name && port.number) at.invalid("", "", "cannot set both port name & port number");
  else if (port?.name) at.problems("service.port.name", port.name, portNameProblems(port.name));
  else if (port?.number) at.problems("service.port.number", port.number, portNumberProblems(port.number));
  else at.required("", "port name or number is required");
}

function validateIngressStatus(next: Ingress, current: Ingress): FieldError[] {
  const at = new FieldErrors("status.loadBalancer");
  const known = new Set(current.status?.loadBalancer?.ingress?.map(({ ip }) => ip));
  at.each("ingress", next.status?.loadBalancer?.ingress, ({ ip, hostname }, place) => {
    if (ip && !known.has(ip)) place.problems("ip", ip, ipProblems(ip));
    if (!hostname) return;
    place.problems("hostname", hostname, dnsSubdomainProblems(hostname));
    if (ipFamilyOf(hostname)) place.invalid("hostname", hostname, "must be a DNS name, not an IP address");
  });
  return at.errors;
}

/** Annotation that preceded the field ingressClassName. */
export const ingressClassAnnotation = "kubernetes.io/ingress.class";

const strategy: Strategy<Ingress> = {
  prepareForCreate(next) {
    next.status = { loadBalancer: {} };
    startGeneration(next);
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
    raiseGenerationOnSpecChange(next, current);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: (next) => validateIngressCreate(next, ingressClassAnnotation),
  validateUpdate: (next) => validateIngress(next),
  validateStatusUpdate: validateIngressStatus,

  warnings({ metadata, spec }, _, current) {
    const annotated = metadata.annotations?.[ingressClassAnnotation] !== undefined;
    if (current || !annotated || spec?.ingressClassName !== undefined) return [];
    return [
      `annotation "${ingressClassAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`,
    ];
  },

  statusWarnings: ({ status }) =>
    (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }, i) =>
      ip ? ipWarnings(`status.loadBalancer.ingress[${i}]`, ip) : [],
    ),
};

export const ingressKind = defineKind<Ingress>({
  resource: {
    group: "networking.k8s.io",
    version: "v1",
    plural: "ingresses",
    kind: "Ingress",
    shortNames: ["ing"],
  },
  subresources: ["status"],
  strategy,
  columns: [
    nameColumn,
    column("Class", "Name of the IngressClass", ({ spec }) => spec?.ingressClassName ?? "<none>"),
    column("Hosts", "Hosts of the rules", ({ spec }) =>
      formatHosts((spec?.rules ?? []).map(({ host = "" }) => host)),
    ),
    column("Address", "Addresses of the load balancer", ({ status }) => {
      const points = status?.loadBalancer?.ingress ?? [];
      return [...new Set(points.map(({ ip, hostname }) => ip || hostname || "").filter(Boolean))]
        .sort()
        .join(",");
    }),
    column("Ports", "Ports that are served", ({ spec }) => (spec?.tls?.length ? "80, 443" : "80")),
    ageColumn,
  ],
});

/** `a,b,c + 2 more...`. As upstream, the number counts rules that follow the third, with or without a host. */
function formatHosts(hosts: readonly string[]): string {
  const named = hosts.filter(Boolean).slice(0, 3);
  if (named.length === 0) return "*";
  const third = hosts.indexOf(named[2] ?? "");
  const hasMore = named.length === 3 && third < hosts.length - 1;
  return hasMore ? `${named.join(",")} + ${hosts.length - 3} more...` : named.join(",");
}
