import {
  type CustomResourceDefinition,
  cleanupFinalizer,
  isConditionTrue,
} from "../../../custom/custom-resource-definition.ts";
import { isKnownFormat } from "../../../custom/formats.ts";
import { hasRules, schemasIn } from "../../../custom/open-api-schema.ts";
import { loadPatternEngine } from "../../../custom/pattern.ts";
import { loadRuleEngine } from "../../../custom/rule-engine.ts";
import { FieldErrors } from "../../../meta/field-errors.ts";
import { column, nameColumn } from "../../columns.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, raiseGenerationOnSpecChange, type Strategy, startGeneration } from "../../strategy.ts";
import { validateDefinition, validateNames, validateStoredVersions } from "./validation.ts";

const strategy: Strategy<CustomResourceDefinition> = {
  async load({ spec }) {
    const schemas = (spec?.versions ?? []).map(({ schema }) => schema?.openAPIV3Schema);
    if (schemas.some((schema) => schema && hasRules(schema))) await loadRuleEngine();
    await loadPatternEngine();
  },

  applyDefaults(definition) {
    // Go has no missing structs: validation reports their empty fields.
    definition.spec ??= {} as CustomResourceDefinition["spec"];
    definition.spec.names ??= { plural: "", kind: "" };
    const { names, conversion } = definition.spec;
    if (names) {
      names.singular ||= names.kind?.toLowerCase() ?? "";
      if (names.kind) names.listKind ||= `${names.kind}List`;
    }
    definition.spec.conversion ??= { strategy: "None" };
    const service = conversion?.webhook?.clientConfig?.service;
    if (service) service.port ??= 443;
  },

  prepareForCreate(next) {
    startGeneration(next);
    delete next.status;
    storeVersion(next);
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
    raiseGenerationOnSpecChange(next, current);
    storeVersion(next);
  },

  prepareForStatusUpdate(next, current) {
    next.spec = current.spec;
    // As upstream, writers of the status may change labels, annotations and finalizers.
  },

  validate: (next) => validateDefinition(next),

  validateUpdate(next, current) {
    const at = new FieldErrors("spec");
    if (isConditionTrue(current, "Established")) {
      immutable("scope", next.spec.scope, current.spec.scope);
      immutable("names.kind", next.spec.names?.kind, current.spec.names.kind);
    }
    immutable("group", next.spec.group, current.spec.group);
    immutable("names.plural", next.spec.names?.plural, current.spec.names.plural);
    return [...validateDefinition(next, current), ...at.errors];

    function immutable(field: string, value: unknown, before: unknown): void {
      if (value !== before) at.invalid(field, value, "field is immutable");
    }
  },

  validateStatusUpdate(next) {
    const at = new FieldErrors("status");
    if (next.status?.acceptedNames) validateNames(next.status.acceptedNames, at.child("acceptedNames"));
    if (next.status?.storedVersions) validateStoredVersions(next, at);
    return at.errors;
  },

  beginDeletion(definition) {
    const { metadata } = definition;
    if (metadata.deletionTimestamp !== undefined) return "go";
    // The objects of the definition are deleted before it.
    if (!metadata.finalizers?.includes(cleanupFinalizer))
      metadata.finalizers = [...(metadata.finalizers ?? []), cleanupFinalizer];
    return "go";
  },

  warnings(next, _context, current) {
    const known = new Set(current ? unknownFormats(current) : []);
    return unknownFormats(next)
      .filter((format) => !known.has(format))
      .map((format) => `unrecognized format ${JSON.stringify(format)}`);
  },

  allowUnconditionalUpdate: false,
};

function storeVersion(definition: CustomResourceDefinition): void {
  const stored = definition.spec.versions?.find(({ storage }) => storage)?.name;
  const { storedVersions = [], ...status } = definition.status ?? {};
  if (stored === undefined || storedVersions.includes(stored)) return;
  definition.status = { ...status, storedVersions: [...storedVersions, stored] };
}

function unknownFormats({ spec }: CustomResourceDefinition): string[] {
  const schemas = (spec.versions ?? []).flatMap(({ schema }) => [
    ...(schema?.openAPIV3Schema ? schemasIn(schema.openAPIV3Schema) : []),
  ]);
  return schemas.flatMap(({ type, format }) => (format && !isKnownFormat(type, format) ? [format] : []));
}

export const customResourceDefinitionKind = defineKind<CustomResourceDefinition>({
  resource: {
    group: "apiextensions.k8s.io",
    version: "v1",
    plural: "customresourcedefinitions",
    kind: "CustomResourceDefinition",
    namespaced: false,
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
  },
  strategy,
  subresources: ["status"],
  columns: [
    nameColumn,
    column("Created At", "When the object was created", ({ metadata }) => metadata.creationTimestamp ?? "", {
      type: "date",
    }),
  ],
});
