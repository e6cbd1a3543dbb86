import { type FieldError, FieldErrors } from "../meta/field-errors.ts";
import { isEqual } from "../meta/is-equal.ts";
import { DecodeError } from "../schema/decode-error.ts";
import { isJsonObject } from "../schema/json-object.ts";
import { decodeEmbedded, validateEmbedded } from "./embedded-resources.ts";
import { hasRules, isEmbeddedResource, itemsOf, metaFields, type OpenApiSchema } from "./open-api-schema.ts";
import { pruneObject, pruneValue } from "./prune.ts";
import { ruleEngine } from "./rule-engine.ts";
import { validateValue } from "./validate-value.ts";

/** Checks that the defaults of a schema are valid and have no unknown fields. */
export function validateSchemaDefaults(schema: OpenApiSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const children: [string, OpenApiSchema][] = Object.entries(schema.properties ?? {})
    // Defaults of metadata at the root are not allowed at all.
    .filter(([key]) => !metaFields.has(key))
    .map(([key, property]) => [`${path}.properties[${key}]`, property]);
  const run: Run = { errors, budget: undefined };
  for (const [childPath, child] of children) validateLevel(child, childPath, run);
  return errors;
}

interface Run {
  readonly errors: FieldError[];
  /** Costs that the rules of all defaults may still have. Undefined before the first rule. */
  budget: number | undefined;
}

function validateLevel(schema: OpenApiSchema, path: string, run: Run): void {
  if (schema.default !== undefined && schema.default !== null) {
    const errors = validateDefault(schema, `${path}.default`);
    run.errors.push(...errors);
    if (errors.length === 0 && hasRules(schema)) runRules(schema, `${path}.default`, run);
  }
  const items = itemsOf(schema);
  if (items) validateLevel(items, `${path}.items`, run);
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    validateLevel(property, `${path}.properties[${key}]`, run);
}

/** Runs the rules on a default twice, as upstream: as an unchanged value, and as a new one. */
function runRules(schema: OpenApiSchema, path: string, run: Run): void {
  if (run.budget !== undefined && run.budget < 0) return;
  const validator = ruleEngine().createRulesValidator(schema, isEmbeddedResource(schema));
  const value = schema.default;
  const options = { path, ratchets: false, budget: run.budget };
  const unchanged = validator.validate(value, { ...options, old: value });
  const isNewChecked = unchanged.errors.length === 0;
  const asNew = isNewChecked ? validator.validate(value, options) : unchanged;
  run.errors.push(...asNew.errors);
  run.budget = Math.min(unchanged.budget, asNew.budget);
}

function validateDefault(schema: OpenApiSchema, path: string): FieldError[] {
  const at = new FieldErrors(path);
  const value: unknown = structuredClone(schema.default);
  if (isEmbeddedResource(schema) && isJsonObject(value)) pruneObject(value, schema);
  else pruneValue(value, schema);
  if (!isEqual(value, schema.default)) at.invalid("", schema.default, "must not have unknown fields");
  try {
    decodeEmbedded(value, schema, "default");
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    at.invalid("", schema.default, error.message);
    return at.errors;
  }
  const before = at.errors.length;
  validateEmbedded(schema.default, schema, at);
  if (at.errors.length > before) return at.errors;
  return [...at.errors, ...validateValue(schema.default, schema, { prefix: path })];
}
