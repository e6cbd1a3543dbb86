import { type FieldErrors, invalid } from "../meta/field-errors.ts";
import { dns1035LabelProblems } from "../meta/names.ts";
import type { ObjectMeta } from "../meta/objects.ts";
import { validateObjectMeta } from "../meta/validate-metadata.ts";
import { builtInSchema } from "../schema/built-in-schema.ts";
import { decodeObject } from "../schema/decode.ts";
import { DecodeError } from "../schema/decode-error.ts";
import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import {
  fieldSchema,
  isEmbeddedResource,
  itemsOf,
  type OpenApiSchema,
  propertyOf,
} from "./open-api-schema.ts";

/** Decodes the metadata of embedded resources. Returns the paths of unknown fields. Throws DecodeError. */
export function decodeEmbedded(value: unknown, schema: OpenApiSchema | undefined, path: string): string[] {
  if (!schema) return [];
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    return value.flatMap((item, i) => decodeEmbedded(item, items, `${path}[${i}]`));
  }
  if (!isJsonObject(value)) return [];
  const unknown: string[] = [];
  if (isEmbeddedResource(schema) && path !== "" && value.metadata !== undefined && value.metadata !== null) {
    const decoded = decodeMetadata(value.metadata, `${path}.metadata`);
    value.metadata = decoded.object;
    unknown.push(...decoded.unknownFields.map((field) => `${path}.metadata.${field}`));
  }
  for (const [key, child] of Object.entries(value))
    unknown.push(...decodeEmbedded(child, fieldSchema(schema, key), path ? `${path}.${key}` : key));
  return unknown;
}

function decodeMetadata(metadata: unknown, path: string) {
  try {
    return decodeObject(builtInSchema, "meta.v1.ObjectMeta", metadata);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const { field, message } = invalid(path, metadata, error.message);
    throw new DecodeError(`${field}: ${message}`);
  }
}

/** Validates apiVersion, kind and metadata of embedded resources. */
export function validateEmbedded(value: unknown, schema: OpenApiSchema | undefined, at: FieldErrors): void {
  if (!schema) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    for (const [i, item] of value.entries()) validateEmbedded(item, items, at.child(`[${i}]`));
  } else if (isJsonObject(value)) {
    if (isEmbeddedResource(schema)) validateResource(value, at);
    for (const [key, child] of Object.entries(value)) {
      const place = propertyOf(schema, key) ? key : `[${key}]`;
      validateEmbedded(child, fieldSchema(schema, key), at.child(place));
    }
  }
}

function validateResource(resource: JsonObject, at: FieldErrors): void {
  const { apiVersion, kind, metadata } = resource;
  if (apiVersion === undefined) at.required("apiVersion");
  if (kind === undefined) at.required("kind");
  if (apiVersion !== undefined) validateApiVersion(apiVersion, at);
  if (kind !== undefined) {
    if (typeof kind !== "string") at.invalid("kind", kind, "must be a string");
    else if (kind === "") at.invalid("kind", kind, "must not be empty");
    else {
      const problems = dns1035LabelProblems(kind.toLowerCase());
      const detail = `may have mixed case, but should otherwise match: ${problems.join(",")}`;
      if (problems.length > 0) at.invalid("kind", kind, detail);
    }
  }
  if (metadata !== undefined) validateMetadata(metadata, at);
}

function validateApiVersion(apiVersion: unknown, at: FieldErrors): void {
  if (typeof apiVersion !== "string") at.invalid("apiVersion", apiVersion, "must be a string");
  else if (apiVersion === "") at.invalid("apiVersion", apiVersion, "must not be empty");
  else if (apiVersion.split("/").length > 2)
    at.invalid("apiVersion", apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
}

function validateMetadata(metadata: unknown, at: FieldErrors): void {
  try {
    const { object } = decodeObject(builtInSchema, "meta.v1.ObjectMeta", metadata);
    const decoded = object as ObjectMeta;
    const errors = validateObjectMeta(
      { ...decoded, name: decoded.name || "fakename" },
      { namespaced: Boolean(decoded.namespace), nameRule: "pathSegment" },
    );
    const { path } = at;
    for (const error of errors)
      at.errors.push({ ...error, field: path ? `${path}.${error.field}` : error.field });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    at.invalid("metadata", metadata, error.message);
  }
}
