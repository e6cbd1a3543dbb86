import type { KubeObject } from "../objects.ts";
import { apiVersionOf } from "../resources.ts";
import { badRequest, type StatusError } from "../status-error.ts";
import { decodeObject } from "./decode.ts";
import { DecodeError, jsonKind } from "./decode-error.ts";
import { goSyntaxError } from "./go-syntax-error.ts";
import { definitionName, type GroupVersionKind, hasDefinition } from "./schema.ts";
import { type FieldValidation, listStrictErrors, strictDecodingError } from "./strict-errors.ts";

export interface DecodedBody<T> {
  readonly object: T;
  /** For `Warning` headers. */
  readonly warnings: readonly string[];
}

/** Reads the JSON body of a create or update. Throws a 400 that says what upstream says. */
export function decodeBody<T = KubeObject>(
  expected: GroupVersionKind,
  text: string,
  options: { fieldValidation: FieldValidation },
): DecodedBody<T> {
  const value = parseBody(expected, text);
  const given = kindOf(expected, value, text);
  const refusal = otherKind(given, expected);
  if (refusal) throw unhandled(given, expected, refusal);
  // Events have two groups, which stand for the same objects.
  if (given.group !== expected.group || given.version !== expected.version) {
    throw badRequest(
      `the API version in the data (${apiVersionOf(given)}) does not match the expected API version (${apiVersionOf(expected)})`,
    );
  }
  try {
    const { object, unknownFields } = decodeObject(definitionName(expected), value ?? {});
    const strictErrors = listStrictErrors({ unknownFields, text, value }, options.fieldValidation);
    if (options.fieldValidation === "Strict" && strictErrors.length > 0) {
      throw new DecodeError(strictDecodingError(strictErrors));
    }
    // The one cast of the edge: the object has just been checked against its definition.
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

/** The kind that the body says it is; what it leaves out is as expected. */
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

/** Why the one cannot be taken for the other. */
function otherKind(given: GroupVersionKind, expected: GroupVersionKind): string | undefined {
  if (hasDefinition(definitionName(given))) {
    const target = internalName(expected);
    if (internalName(given) === target) return undefined;
    return `converting (${given.version}.${given.kind}) to (${target}): unknown conversion`;
  }
  const version = JSON.stringify(apiVersionOf(given));
  return `no kind ${JSON.stringify(given.kind)} is registered for version ${version} in scheme "pkg/api/legacyscheme/scheme.go:30"`;
}

/** `core.Pod`: what upstream calls a kind whatever its version. */
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
