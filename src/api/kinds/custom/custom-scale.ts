import type { ScalePaths } from "../../custom/custom-resource-definition.ts";
import { type FieldError, FieldErrors } from "../../meta/field-errors.ts";
import type { KubeObject } from "../../meta/objects.ts";
import { formatGo } from "../../patch/patch-error.ts";
import { define, isJsonObject, type JsonObject } from "../../schema/json-object.ts";
import type { ScaleFields } from "../kind-definition.ts";
import { cloneJson } from "./custom-schema.ts";

const maxReplicas = 2 ** 31 - 1;

/** Scale subresource of a custom resource, by the paths of its definition (`.spec.replicas`). */
export function customScale(paths: ScalePaths): ScaleFields {
  const read = (object: KubeObject, path: string) => valueAt(object, segmentsOf(path));
  return {
    replicas: (object) => integer(read(object, paths.specReplicasPath)),
    statusReplicas: (object) => integer(read(object, paths.statusReplicasPath)) ?? 0,
    selector(object) {
      const selector = paths.labelSelectorPath && read(object, paths.labelSelectorPath);
      return typeof selector === "string" ? selector : "";
    },
    withReplicas(object, replicas) {
      const next = cloneJson(object) as JsonObject;
      setAt(next, segmentsOf(paths.specReplicasPath), replicas);
      return next as unknown as KubeObject;
    },
  };
}

/** Validates the fields of the scale subresource in an object. */
export function validateScale(
  object: KubeObject,
  paths: ScalePaths,
  parts: readonly ("spec" | "status")[],
): FieldError[] {
  const at = new FieldErrors("");
  for (const part of parts) {
    const path = part === "spec" ? paths.specReplicasPath : paths.statusReplicasPath;
    const broken = brokenPath(object, segmentsOf(path));
    if (broken !== undefined) {
      const type = `${formatGo(broken)} is of the type ${goType(broken)}`;
      at.invalid(path, 0, `${path} accessor error: ${type}, expected map[string]interface{}`);
      continue;
    }
    const value = valueAt(object, segmentsOf(path));
    if (value === undefined) continue;
    if (typeof value !== "number" || !Number.isInteger(value))
      at.invalid(
        path,
        0,
        `${path} accessor error: ${formatGo(value)} is of the type ${goType(value)}, expected int64`,
      );
    else if (value < 0) at.invalid(path, value, "should be a non-negative integer");
    else if (value > maxReplicas) at.invalid(path, value, `should be less than or equal to ${maxReplicas}`);
  }
  return at.errors;
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : typeof value === "number" ? "float64" : typeof value;
}

function segmentsOf(path: string): string[] {
  return path.replace(/^\./, "").split(".");
}

function valueAt(object: unknown, segments: readonly string[]): unknown {
  return segments.reduce<unknown>(
    (value, segment) => (isJsonObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined),
    object,
  );
}

/** The first value before the end of the path that is not an object. Undefined when there is none. */
function brokenPath(object: unknown, segments: readonly string[]): unknown {
  let value = object;
  for (const segment of segments) {
    if (value === undefined) return undefined;
    if (!isJsonObject(value)) return value;
    value = Object.hasOwn(value, segment) ? value[segment] : undefined;
  }
  return undefined;
}

function setAt(object: JsonObject, segments: readonly string[], value: number): void {
  const [first = "", ...rest] = segments;
  if (rest.length === 0) {
    define(object, first, value);
    return;
  }
  const child = Object.hasOwn(object, first) ? object[first] : undefined;
  const next: JsonObject = isJsonObject(child) ? child : {};
  define(object, first, next);
  setAt(next, rest, value);
}

function integer(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
