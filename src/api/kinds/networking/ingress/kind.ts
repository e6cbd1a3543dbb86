import type { Ingress } from "../../../meta/objects.ts";
import { ipWarnings } from "../../../meta/validate-ip.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";
import { validateIngress, validateIngressCreate, validateIngressStatus } from "./validation.ts";

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
