import { invalid } from "../meta/field-errors.ts";
import type { KubeObject } from "../meta/objects.ts";
import { apiVersionOf } from "../meta/resource.ts";
import { badRequest, invalidObject, type StatusError } from "../meta/status-error.ts";
import { decodeObject } from "./decode.ts";
import { DecodeError, goSyntaxError, jsonKind } from "./decode-error.ts";
import { definitionName, type GroupVersionKind, type Schema } from "./schema.ts";
import { type FieldValidation, listStrictErrors, strictDecodingError } from "./strict-errors.ts";

export interface DecodedBody<T> {
  readonly object: T;
  /** Texts of `Warning` headers. */
  readonly warnings: readonly string[];
}

/** Decodes the JSON body of a create or update. Throws 400 with upstream's message. */
export function decodeBody<T = KubeObject>(
  schema: Schema,
  expected: GroupVersionKind,
  text: string,
  options: { fieldValidation: FieldValidation },
): DecodedBody<T> {
  const value = parseBody(expected, text);
  const given = schema.decode ? customKindOf(expected, value, text) : kindOf(expected, value, text);
  const refusal = schema.decode ? undefined : otherKind(schema, given, expected);
  if (refusal) throw unhandled(given, expected, refusal);
  // Both groups of events serve the same objects.
  if (given.group !== expected.group || given.version !== expected.version) {
    throw badRequest(
      `the API version in the data (${apiVersionOf(given)}) does not match the expected API version (${apiVersionOf(expected)})`,
    );
  }
  if (given.kind !== expected.kind && schema.decode) throw wrongKind(given, expected, value);
  try {
    const { object, unknownFields } = decodeObject(schema, definitionName(expected), value ?? {});
    const strictErrors = listStrictErrors({ unknownFields, text, value }, options.fieldValidation);
    if (options.fieldValidation === "Strict" && strictErrors.length > 0) {
      throw new DecodeError(strictDecodingError(strictErrors));
    }
    // Safe: the object has been decoded against its definition.
    return { object: object as T, warnings: strictErrors };
  } catch (error) {
    if (error instanceof DecodeError) throw unhandled(given, expected, error.message);
    throw error;
  }
}

function parseBody(expected: GroupVersionKind, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw unrecognized(expected, text, goSyntaxError(error, text));
    throw error;
  }
}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Kind of the body. Missing fields are as expected. */
function kindOf(expected: GroupVersionKind, value: unknown, text: string): GroupVersionKind {
  if (value === null) return expected;
  if (typeof value !== "object" || Array.isArray(value)) {
    throw unrecognized(
      expected,
      text,
      `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${typeMeta}`,
    );
  }
  const { apiVersion, kind } = value as { apiVersion?: unknown; kind?: unknown };
  for (const [name, part] of Object.entries({ apiVersion, kind })) {
    if (part === undefined || part === null || typeof part === "string") continue;
    const field = `json: cannot unmarshal ${jsonKind(part)} into Go struct field .${name} of type string`;
    throw unrecognized(expected, text, field);
  }
  const [version = "", group = ""] = ((apiVersion as string | null) || apiVersionOf(expected))
    .split("/")
    .reverse();
  return { group, version, kind: (kind as string | null) || expected.kind };
}

/** Kind of the body of a custom resource, which must name its kind and version. */
function customKindOf(expected: GroupVersionKind, value: unknown, text: string): GroupVersionKind {
  const given = kindOf(expected, value, text);
  const { apiVersion, kind } = (value ?? {}) as { apiVersion?: unknown; kind?: unknown };
  if (!kind)
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): Object 'Kind' is missing in '${text}' (${summarize(text)})`,
    );
  return apiVersion ? given : { ...given, group: "", version: "" };
}

function wrongKind(given: GroupVersionKind, expected: GroupVersionKind, value: unknown): StatusError {
  const { name } = (value as { metadata?: { name?: string } }).metadata ?? {};
  return invalidObject({ group: given.group, kind: given.kind }, name ?? "", [
    invalid("kind", given.kind, `must be ${expected.kind}`),
  ]);
}

/** Error for a body of another kind than expected. */
function otherKind(schema: Schema, given: GroupVersionKind, expected: GroupVersionKind): string | undefined {
  if (schema.has(definitionName(given))) {
    const target = internalName(expected);
    if (internalName(given) === target) return undefined;
    return `converting (${given.version}.${given.kind}) to (${target}): unknown conversion`;
  }
  const version = JSON.stringify(apiVersionOf(given));
  return `no kind ${JSON.stringify(given.kind)} is registered for version ${version} in scheme "pkg/api/legacyscheme/scheme.go:30"`;
}

/** Upstream's internal name of a kind, without a version: `core.Pod`. */
function internalName({ group, kind }: GroupVersionKind): string {
  const home = group === "" || group === "events.k8s.io" ? "core" : group.split(".", 1)[0];
  return `${home}.${kind}`;
}

function unhandled(given: GroupVersionKind, expected: GroupVersionKind, reason: string): StatusError {
  return badRequest(
    `${given.kind} in version ${JSON.stringify(given.version)} cannot be handled as a ${expected.kind}: ${reason}`,
  );
}

function unrecognized(expected: GroupVersionKind, text: string, reason: string): StatusError {
  return badRequest(
    `the object provided is unrecognized (must be of type ${expected.kind}): couldn't get version/kind; json parse error: ${reason} (${summarize(text)})`,
  );
}

function summarize(text: string): string {
  if (text === "") return "<empty>";
  const start = Buffer.from(text.slice(0, 31)).subarray(0, 31);
  const shown = start.length > 30 ? start.subarray(0, 30) : start;
  const more = start.length > 30 ? " ..." : "";
  return `${text.startsWith("{") ? shown.toString() : shown.toString("hex")}${more}`;
}
