import type {
  CustomResourceDefinition,
  DefinitionNames,
  DefinitionVersion,
  PrinterColumn,
  ScalePaths,
} from "../../../custom/custom-resource-definition.ts";
import { fieldSchema, type OpenApiSchema, propertyOf, schemasIn } from "../../../custom/open-api-schema.ts";
import { validateSchema } from "../../../custom/validate-schema.ts";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import { dns1035LabelProblems, dnsSubdomainProblems } from "../../../meta/names.ts";
import { validateApiApproval } from "./api-approval.ts";
import { validateConversion } from "./validate-conversion.ts";

/** Validates a definition with upstream's messages. `current` is the definition that it replaces. */
export function validateDefinition(
  definition: CustomResourceDefinition,
  current?: CustomResourceDefinition,
): FieldError[] {
  const { spec, metadata, status } = definition;
  const at = new FieldErrors("");
  const names = spec.names ?? { plural: "", kind: "" };
  if (!current && metadata.name !== `${names.plural}.${spec.group}`)
    at.invalid("metadata.name", metadata.name, 'must be spec.names.plural+"."+spec.group');
  const place = at.child("spec");
  validateGroup(spec.group, place);
  place.requiredOneOf("scope", spec.scope, ["Cluster", "Namespaced"]);
  validateVersions(spec.versions ?? [], current?.spec.versions ?? [], place);
  place.child("names").requireFields({ listKind: "", singular: "", ...names }, requiredNames);
  validateNames(names, place.child("names"));
  if (spec.conversion) validateConversion(spec.conversion, current, place.child("conversion"));
  if (status?.acceptedNames) validateNames(status.acceptedNames, at.child("status.acceptedNames"));
  validateStoredVersions(definition, at.child("status"));
  validateApiApproval(definition, current, at);
  if (spec.preserveUnknownFields && hasDefaults(spec.versions ?? []))
    at.invalid("spec.preserveUnknownFields", true, "must be false in order to use defaults in the schema");
  if (spec.preserveUnknownFields && !current?.spec.preserveUnknownFields) {
    const detail =
      "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    at.invalid("spec.preserveUnknownFields", true, detail);
  }
  return at.errors;
}

function hasDefaults(versions: readonly DefinitionVersion[]): boolean {
  return versions.some(({ schema }) => {
    const parts = schema?.openAPIV3Schema ? [...schemasIn(schema.openAPIV3Schema)] : [];
    return parts.some((part) => part.default !== undefined);
  });
}

const requiredNames = ["plural", "singular", "kind", "listKind"] as const;

function validateGroup(group: string, at: FieldErrors): void {
  if (!group) {
    at.required("group");
    return;
  }
  const problems = dnsSubdomainProblems(group);
  if (problems.length > 0) at.invalid("group", group, problems.join(","));
  else if (!group.includes(".")) at.invalid("group", group, "should be a domain with at least one dot");
}

function validateVersions(
  versions: readonly DefinitionVersion[],
  current: readonly DefinitionVersion[],
  at: FieldErrors,
): void {
  at.each("versions", versions, ({ schema }, place) => {
    if (!schema?.openAPIV3Schema) place.required("schema.openAPIV3Schema");
  });
  const hoistedFields = new Set(versionFields.filter((field) => isHoisted(versions, field)));
  at.each("versions", versions, (version, place) => {
    const problems = dns1035LabelProblems(version.name);
    if (problems.length > 0) {
      place.invalid("name", version.name, problems.join(","));
      // Upstream's deprecated field for the first version.
      if (version === versions[0]) at.invalid("version", version.name, problems.join(","));
    }
    const before = current.find(({ name }) => name === version.name);
    const isFirst = version === versions[0];
    const hoisted = (field: VersionField) => hoistedFields.has(field);
    // Errors of a hoisted field are those of the first version.
    const own = isFirst ? version : withoutFields(version, hoistedFields);
    validateVersion(own, before, { spec: at, at: place, hoisted });
  });
  if (new Set(versions.map(({ name }) => name)).size < versions.length)
    at.invalid("versions", versions, "must contain unique version names");
  if (versions.filter(({ storage }) => storage).length !== 1)
    at.invalid("versions", versions, "must have exactly one version marked as storage version");
}

function validateVersion(
  version: DefinitionVersion,
  current: DefinitionVersion | undefined,
  { spec, at, hoisted }: { spec: FieldErrors; at: FieldErrors; hoisted: (field: VersionField) => boolean },
): void {
  const { schema, subresources, deprecated, deprecationWarning } = version;
  for (const problem of deprecationProblems(deprecated, deprecationWarning))
    at.invalid("deprecationWarning", deprecationWarning, problem);
  const place = (field: VersionField) => (hoisted(field) ? spec : at);
  const openApiSchema = schema?.openAPIV3Schema;
  // An unchanged schema was valid when it was stored; validating it again would slow down every update of a definition.
  const unchanged =
    isEqual(openApiSchema, current?.schema?.openAPIV3Schema) &&
    Boolean(subresources?.status) === Boolean(current?.subresources?.status);
  if (openApiSchema && !unchanged) {
    const path = `${place("schema").path}.${hoisted("schema") ? "validation" : "schema"}.openAPIV3Schema`;
    at.errors.push(...validateSchema(openApiSchema, { path, hasStatus: Boolean(subresources?.status) }));
  }
  if (subresources?.scale) validateScale(subresources.scale, place("subresources").child("subresources"));
  place("additionalPrinterColumns").each(
    "additionalPrinterColumns",
    version.additionalPrinterColumns,
    validateColumn,
  );
  if (openApiSchema)
    validateSelectableFields(version.selectableFields ?? [], openApiSchema, place("selectableFields"));
}

const versionFields = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"] as const;
type VersionField = (typeof versionFields)[number];

function withoutFields(version: DefinitionVersion, fields: ReadonlySet<VersionField>): DefinitionVersion {
  const rest = { ...version };
  for (const field of fields) delete rest[field];
  return rest;
}

/** Whether upstream reports the errors of a field once, outside of the versions: all versions have the same value. */
function isHoisted(versions: readonly DefinitionVersion[], field: VersionField): boolean {
  const [first] = versions;
  return first?.[field] !== undefined && versions.every((version) => isEqual(version[field], first[field]));
}

function deprecationProblems(deprecated: boolean | undefined, warning: string | undefined): string[] {
  if (warning === undefined) return [];
  if (!deprecated) return ["can only be set for deprecated versions"];
  const index = warning.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  return [
    ...(Buffer.byteLength(warning) > 256 ? ["must be <= 256 characters long"] : []),
    ...(warning === "" ? ["must not be an empty string"] : []),
    ...(index >= 0
      ? [`must only contain printable UTF-8 characters; non-printable character found at index ${index}`]
      : []),
  ];
}

/** Validates names, which may be empty in the status. */
export function validateNames(names: DefinitionNames, at: FieldErrors): void {
  const { kind, listKind } = names;
  for (const field of ["plural", "singular"] as const) check(field, names[field], names[field] ?? "");
  for (const field of ["kind", "listKind"] as const)
    check(
      field,
      names[field],
      names[field]?.toLowerCase() ?? "",
      "may have mixed case, but should otherwise match: ",
    );
  for (const [i, name] of names.shortNames?.entries() ?? []) check(`shortNames[${i}]`, name, name);
  if (kind && kind === listKind) at.invalid("listKind", listKind, "kind and listKind may not be the same");
  for (const [i, name] of names.categories?.entries() ?? []) check(`categories[${i}]`, name, name);

  function check(field: string, value: string | undefined, label: string, detail = ""): void {
    const isListItem = field.endsWith("]");
    if (!value && !isListItem) return;
    const problems = dns1035LabelProblems(label);
    if (problems.length > 0) at.invalid(field, value, detail + problems.join(","));
  }
}

/** Checks that versions in which objects may be stored remain in the definition. */
export function validateStoredVersions({ spec, status }: CustomResourceDefinition, at: FieldErrors): void {
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) {
    at.invalid("storedVersions", stored, "must have at least one stored version");
    return;
  }
  for (const { name, storage } of spec.versions ?? []) {
    if (storage && !stored.includes(name))
      at.invalid("storedVersions", stored, `must have the storage version ${name}`);
  }
  stored.forEach((name, i) => {
    if (spec.versions?.some((version) => version.name === name)) return;
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    at.invalid(`storedVersions[${i}]`, name, detail);
  });
}

function validateScale(scale: ScalePaths, at: FieldErrors): void {
  for (const [field, root] of [
    ["specReplicasPath", ".spec."],
    ["statusReplicasPath", ".status."],
  ] as const) {
    const path = scale[field];
    const detail = `should be a json path under ${root.slice(0, -1)}`;
    if (!path) at.required(`scale.${field}`);
    else if (validatePath(`scale.${field}`, path, at) && !path.startsWith(root))
      at.invalid(`scale.${field}`, path, detail);
  }
  const { labelSelectorPath } = scale;
  if (!labelSelectorPath || !validatePath("scale.labelSelectorPath", labelSelectorPath, at)) return;
  if (!/^\.(spec|status)\./.test(labelSelectorPath)) {
    const detail = "should be a json path under either .spec or .status";
    at.invalid("scale.labelSelectorPath", labelSelectorPath, detail);
  }
}

function validatePath(field: string, path: string, at: FieldErrors): boolean {
  if (path.startsWith(".")) return true;
  at.invalid(field, path, "must be a simple json path starting with .");
  return false;
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

function validateColumn(column: PrinterColumn, at: FieldErrors): void {
  if (!column.name) at.required("name");
  const typeDetail = `must be one of ${columnTypes.join(",")}`;
  if (!column.type) at.required("type", typeDetail);
  else if (!columnTypes.includes(column.type)) at.invalid("type", column.type, typeDetail);
  if (column.format && !columnFormats.includes(column.format))
    at.invalid("format", column.format, `must be one of ${columnFormats.join(",")}`);
  if (!column.jsonPath) at.required("JSONPath");
  else validatePath("JSONPath", column.jsonPath, at);
}

const maxSelectableFields = 8;

function validateSelectableFields(
  fields: readonly { jsonPath: string }[],
  schema: OpenApiSchema,
  at: FieldErrors,
): void {
  const seen = new Set<string>();
  at.each("selectableFields", fields, ({ jsonPath }, place) => {
    if (!jsonPath) {
      place.required("jsonPath");
      return;
    }
    const segments = jsonPath.replace(/^\./, "").split(".");
    const found = jsonPath.startsWith(".") ? schemaAt(schema, segments) : undefined;
    if (!found) {
      const detail = jsonPath.startsWith(".")
        ? "does not refer to a valid field"
        : "expected a period at the start of the path";
      place.invalid("jsonPath", jsonPath, `is an invalid path: ${detail}`);
      return;
    }
    if (segments[0] === "metadata")
      place.invalid("jsonPath", jsonPath, "must not point to fields in metadata");
    if (!["string", "boolean", "integer"].includes(found.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      place.invalid("jsonPath", jsonPath, detail);
    }
    if (seen.has(jsonPath)) place.duplicate("jsonPath", jsonPath);
    seen.add(jsonPath);
  });
  if (seen.size > maxSelectableFields) at.tooMany("selectableFields", seen.size, maxSelectableFields);
}

function schemaAt(schema: OpenApiSchema, segments: readonly string[]): OpenApiSchema | undefined {
  return segments.reduce<OpenApiSchema | undefined>(
    (parent, segment) => parent && (propertyOf(parent, segment) ?? fieldSchema(parent, segment)),
    schema,
  );
}
