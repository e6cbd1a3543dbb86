import { FieldErrors } from "../../../api/meta/field-errors.ts";
import type { DeleteOptions } from "../../../api/meta/objects.ts";
import { badRequest } from "../../../api/meta/status-error.ts";
import { type Patch, parsePatch } from "../../../api/patch/apply-patch.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeObject } from "../../../api/schema/decode.ts";
import { DecodeError, goSyntaxError } from "../../../api/schema/decode-error.ts";
import type { FieldValidation } from "../../../api/schema/strict-errors.ts";
import type { ApiRequest } from "../../request/api-request.ts";
import { bodyAsJson } from "../../request/body-as-json.ts";
import { isTrue } from "../../request/request-info.ts";
import { parseInteger, rejectInvalid } from "./read-options.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
}

/** Parses the query options that all writes share. `kind` is upstream's name for the options of this verb. */
export function parseWriteOptions(
  query: URLSearchParams,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
): WriteOptions {
  if (query.size === 0) return plainWrite;
  const at = new FieldErrors("");
  validateFieldManager(query.get("fieldManager") ?? "", at);
  const dryRun = query.getAll("dryRun").filter(Boolean);
  validateDryRun(dryRun, at);
  const fieldValidation = query.get("fieldValidation") || "Warn";
  at.oneOf("fieldValidation", fieldValidation, ["", ...fieldValidations]);
  rejectInvalid(kind, at);
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: fieldValidations.find((name) => name === fieldValidation) ?? "Warn",
  };
}

/** The options of a request that admission webhooks get. The verbs add the kind. */
export function admissionOptions(query: URLSearchParams): object {
  const dryRun = query.getAll("dryRun").filter(Boolean);
  const [manager, validation] = [query.get("fieldManager"), query.get("fieldValidation")];
  return {
    ...(dryRun.length > 0 && { dryRun }),
    ...(manager && { fieldManager: manager }),
    ...(validation && { fieldValidation: validation }),
  };
}

const plainWrite: WriteOptions = { dryRun: false, fieldValidation: "Warn" };
const fieldValidations = ["Ignore", "Strict", "Warn"] as const;

function validateFieldManager(manager: string, at: FieldErrors): void {
  if (Buffer.byteLength(manager) > 128) at.tooLong("fieldManager", 128);
  const position = manager.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  if (position < 0) return;
  const code = (manager.codePointAt(position) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  at.invalid("fieldManager", manager, `invalid character U+${code} (at position ${position})`);
}

function validateDryRun(values: readonly string[], at: FieldErrors): void {
  if (values.some((value) => value !== "All")) at.notSupported("dryRun", values, ["All"]);
}

export async function readPatch(
  request: ApiRequest,
  { fieldValidation }: Pick<WriteOptions, "fieldValidation">,
): Promise<Patch> {
  const body = await request.readBody();
  const patch = parsePatch(request.headers["content-type"] ?? "", body.toString(), { fieldValidation });
  if (request.query.has("force")) {
    const at = new FieldErrors("");
    at.forbidden("force", "may not be specified for non-apply patch");
    rejectInvalid("PatchOptions", at);
  }
  return patch;
}

const propagationPolicies = ["Foreground", "Background", "Orphan"];

/** Parses delete options from the body or, without a body, from the query. */
export async function parseDeleteOptions(request: ApiRequest): Promise<DeleteOptions> {
  const body = await request.readBody();
  const options = body.length > 0 ? await readOptions(request, body) : optionsOfQuery(request.query);
  options.dryRun ??= request.query.getAll("dryRun").filter(Boolean);
  const { propagationPolicy: policy, orphanDependents, dryRun } = options;
  const at = new FieldErrors("");
  if (policy !== undefined && orphanDependents !== undefined) {
    const detail = "orphanDependents and deletionPropagation cannot be both set";
    at.invalid("propagationPolicy", policy, detail);
  }
  if (policy !== undefined && !propagationPolicies.includes(policy))
    at.notSupported("propagationPolicy", policy, [...propagationPolicies, "nil"]);
  validateDryRun(dryRun ?? [], at);
  rejectInvalid("DeleteOptions", at);
  return options;
}

async function readOptions(request: ApiRequest, body: Buffer): Promise<DeleteOptions> {
  const text = await bodyAsJson(body, request.headers["content-type"], builtInSchema);
  try {
    // Clients send the version of the core group or that of the deleted resource: both are accepted.
    const { object } = decodeObject(builtInSchema, "meta.v1.DeleteOptions", JSON.parse(text));
    const { kind = "DeleteOptions", apiVersion = "v1" } = object as { kind?: string; apiVersion?: string };
    if (kind !== "DeleteOptions") {
      throw badRequest(
        `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"`,
      );
    }
    return { ...object };
  } catch (error) {
    if (error instanceof SyntaxError)
      throw badRequest(`couldn't get version/kind; json parse error: ${goSyntaxError(error, text)}`);
    if (error instanceof DecodeError) throw badRequest(error.message);
    throw error;
  }
}

function optionsOfQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  if (grace) parseInteger(grace);
  return {
    ...(grace && { gracePeriodSeconds: Number(grace) }),
    ...(query.get("propagationPolicy") && { propagationPolicy: query.get("propagationPolicy") ?? "" }),
    ...(query.has("orphanDependents") && { orphanDependents: isTrue(query.get("orphanDependents")) }),
  };
}
