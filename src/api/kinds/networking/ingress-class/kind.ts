import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { dnsLabelProblems, dnsSubdomainProblems, pathSegmentProblems } from "../../../meta/names.ts";
import type { IngressClass } from "../../../meta/objects.ts";
import { validateDomainPrefixedPath } from "../../../meta/validate-path.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";

/** Annotation of the class that an Ingress without a class gets. */
export const defaultIngressClassAnnotation = "ingressclass.kubernetes.io/is-default-class";

const maxControllerLength = 250;

const strategy: Strategy<IngressClass> = {
  applyDefaults({ spec }) {
    if (spec?.parameters) spec.parameters.scope ??= "Cluster";
  },

  prepareForCreate: startGeneration,
  prepareForUpdate: raiseGenerationOnSpecChange,
  validate: (next) => validate(next, new FieldErrors("spec")),

  validateUpdate(next, current) {
    const at = new FieldErrors("spec");
    const { controller = "" } = next.spec ?? {};
    if (controller !== (current.spec?.controller ?? "")) {
      at.invalid("controller", controller, "field is immutable");
    }
    return validate(next, at);
  },
};

export const ingressClassKind = defineKind<IngressClass>({
  resource: {
    group: "networking.k8s.io",
    version: "v1",
    plural: "ingressclasses",
    kind: "IngressClass",
    namespaced: false,
  },
  strategy,
  columns: [
    {
      ...nameColumn,
      cell: ({ metadata: { name = "", annotations } }) =>
        annotations?.[defaultIngressClassAnnotation] === "true" ? `${name} (default)` : name,
    },
    column(
      "Controller",
      "Controller that implements Ingresses of the class",
      ({ spec }) => spec?.controller ?? "",
    ),
    column("Parameters", "Object with parameters for the controller", ({ spec }) => {
      const { kind = "", apiGroup, name = "" } = spec?.parameters ?? {};
      if (!spec?.parameters) return "<none>";
      return `${apiGroup === undefined ? kind : `${kind}.${apiGroup}`}/${name}`;
    }),
    ageColumn,
  ],
});

function validate({ spec = {} }: IngressClass, at: FieldErrors): FieldError[] {
  const { controller = "", parameters } = spec;
  if (controller.length > maxControllerLength) at.tooLong("controller", maxControllerLength);
  validateDomainPrefixedPath("controller", controller, at);
  if (parameters) validateParameters(parameters, at.child("parameters"));
  return at.errors;
}

function validateParameters(reference: k8s.V1IngressClassParametersReference, at: FieldErrors): void {
  const { apiGroup, scope, namespace } = reference;
  if (apiGroup !== undefined) at.problems("apiGroup", apiGroup, dnsSubdomainProblems(apiGroup));
  for (const field of ["kind", "name"] as const) {
    if (!reference[field]) at.required(field);
    else at.problems(field, reference[field], pathSegmentProblems(reference[field]));
  }
  at.oneOf("scope", scope, ["Cluster", "Namespace"]);
  if (scope === "Cluster" && namespace !== undefined) {
    at.forbidden("namespace", "`parameters.scope` is set to 'Cluster'");
  }
  if (scope !== "Namespace") return;
  if (namespace === undefined) at.required("namespace", "`parameters.scope` is set to 'Namespace'");
  else at.problems("namespace", namespace, dnsLabelProblems(namespace));
}
