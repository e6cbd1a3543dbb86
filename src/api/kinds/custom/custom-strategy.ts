import type { DefinitionVersion } from "../../custom/custom-resource-definition.ts";
import { applyDefaults } from "../../custom/defaults.ts";
import { validateEmbedded } from "../../custom/embedded-resources.ts";
import { compileJsonPath } from "../../custom/json-path.ts";
import { validateListTypes } from "../../custom/list-types.ts";
import { hasRules, type OpenApiSchema, propertyOf, schemasIn } from "../../custom/open-api-schema.ts";
import { loadPatternEngine } from "../../custom/pattern.ts";
import { loadRuleEngine, ruleEngine } from "../../custom/rule-engine.ts";
import type { RulesValidator } from "../../custom/rules/rules-validator.ts";
import { validateValue } from "../../custom/validate-value.ts";
import { type FieldError, FieldErrors, invalid } from "../../meta/field-errors.ts";
import { isEqual } from "../../meta/is-equal.ts";
import { qualifiedNameProblems } from "../../meta/names.ts";
import type { KubeObject } from "../../meta/objects.ts";
import { keepField, raiseGeneration, type Strategy, startGeneration } from "../strategy.ts";
import { validateScale } from "./custom-scale.ts";

type CustomObject = KubeObject & { status?: unknown };

/** Rules of one version of a custom resource, from its definition. */
export function createCustomStrategy(
  version: DefinitionVersion,
  schema: OpenApiSchema,
): Strategy<CustomObject> {
  const { status: hasStatus, scale } = version.subresources ?? {};
  const statusSchema = propertyOf(schema, "status");
  let hasPatterns: boolean | undefined;
  let withRules: boolean | undefined;
  let rules: RulesValidator | undefined;
  /** Warnings of the last validation of an object: broken rules of values that it did not change. */
  const ruleWarnings = new WeakMap<CustomObject, string[]>();

  function validateContent(next: CustomObject, current: CustomObject | undefined): FieldError[] {
    const old = current && { value: current };
    const errors = validateValue(next, schema, { old });
    if (scale) errors.push(...validateScale(next, scale, ["spec", "status"]));
    errors.push(...validateLists(next, current));
    return [...errors, ...validateRules(next, current, errors)];
  }

  /** Runs the rules, unless the object has errors because of which they could not be evaluated. */
  function validateRules(
    next: CustomObject,
    current: CustomObject | undefined,
    errors: readonly FieldError[],
  ): FieldError[] {
    if (!withRules) return [];
    if (errors.some(({ type }) => blockingErrors.has(type))) return [invalid("<nil>", null, rulesNotChecked)];
    rules ??= ruleEngine().createRulesValidator(schema, true);
    const found = rules.validate(next, { old: current });
    ruleWarnings.set(
      next,
      found.ratcheted.map(({ field, message }) => `${field}: ${message}`),
    );
    return found.errors;
  }

  function validateLists(next: CustomObject, current: CustomObject | undefined): FieldError[] {
    const at = new FieldErrors("");
    validateEmbedded(next, schema, at);
    const before = new FieldErrors("");
    if (current) validateListTypes(current, schema, before);
    // Duplicates that were stored already are accepted.
    if (before.errors.length === 0) validateListTypes(next, schema, at);
    return at.errors;
  }

  return {
    async load() {
      hasPatterns ??= [...schemasIn(schema)].some(({ pattern }) => pattern !== undefined);
      if (hasPatterns) await loadPatternEngine();
      withRules ??= hasRules(schema);
      if (withRules) await loadRuleEngine();
    },

    resetByStatusUpdate: { "f:metadata": {} },

    applyDefaults: (object) => applyDefaults(object, schema),

    prepareForCreate(next) {
      if (hasStatus) delete next.status;
      startGeneration(next);
    },

    prepareForUpdate(next, current) {
      if (hasStatus) keepField(next, current, "status");
      if (!isEqual(withoutMetadata(next), withoutMetadata(current))) raiseGeneration(next, current);
    },

    prepareForStatusUpdate(next, current) {
      const kept = next as unknown as Record<string, unknown>;
      const before = current as unknown as Record<string, unknown>;
      for (const field of Object.keys(kept))
        if (field !== "status" && field !== "metadata") delete kept[field];
      for (const [field, value] of Object.entries(before))
        if (field !== "status" && field !== "metadata") kept[field] = value;
      // As upstream, only managedFields of the metadata may change.
      const { resourceVersion, managedFields } = next.metadata;
      next.metadata = { ...current.metadata, resourceVersion, managedFields };
    },

    validate: (next) => validateContent(next, undefined),
    validateUpdate: (next, current) => validateContent(next, current),

    validateStatusUpdate(next, current) {
      const errors =
        next.status === undefined || !statusSchema
          ? []
          : validateValue(next.status, statusSchema, { prefix: "status", old: { value: current.status } });
      if (scale) errors.push(...validateScale(next, scale, ["status"]));
      errors.push(...validateLists(next, current));
      return [...errors, ...validateRules(next, current, errors)];
    },

    warnings: (next, _context, current) => [
      ...(ruleWarnings.get(next) ?? []),
      ...(next.metadata.finalizers ?? [])
        .filter((finalizer) => !current?.metadata.finalizers?.includes(finalizer))
        .flatMap(finalizerWarnings),
    ],

    statusWarnings: (next) => ruleWarnings.get(next) ?? [],

    ...(version.selectableFields?.length && { selectableFields: selectableFields(version) }),
    // As upstream, these cause a warning only.
    finalizers: "any",
    allowUnconditionalUpdate: false,
  };
}

/** Errors with which values can have types that rules do not expect. */
const blockingErrors: ReadonlySet<FieldError["type"]> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);
const rulesNotChecked =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

function withoutMetadata({ metadata: _, ...content }: CustomObject): object {
  return content;
}

function selectableFields({ selectableFields: fields = [] }: DefinitionVersion) {
  return Object.fromEntries(
    fields.map(({ jsonPath }) => {
      const path = compileJsonPath(jsonPath);
      const read = (object: KubeObject) => {
        const value = path?.(object)[0];
        return value === undefined || value === null ? "" : String(value);
      };
      return [jsonPath.replace(/^\./, ""), read];
    }),
  );
}

const standardFinalizers = ["orphan", "foregroundDeletion", "kubernetes"];

function finalizerWarnings(finalizer: string): string[] {
  const prefix = `metadata.finalizers: ${JSON.stringify(finalizer)}: `;
  const warnings = qualifiedNameProblems(finalizer).map((problem) => prefix + problem);
  if (finalizer.includes("/") || standardFinalizers.includes(finalizer)) return warnings;
  const path = finalizer.includes(".") ? " including a path (/)" : "";
  return [
    ...warnings,
    `${prefix}prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
  ];
}
