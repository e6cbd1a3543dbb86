import type { DeleteOptions } from "../../api/objects.ts";
import { type Patch, parsePatch } from "../../api/patch/apply-patch.ts";
import { decodeObject } from "../../api/schema/decode.ts";
import { DecodeError } from "../../api/schema/decode-error.ts";
import type { FieldValidation } from "../../api/schema/strict-errors.ts";
import { badRequest } from "../../api/status-error.ts";
import type { ApiRequest } from "../api-request.ts";
import { bodyAsJson } from "../representation/body-as-json.ts";
import { isTrue } from "../request-info.ts";

export function parseFieldValidation(query: URLSearchParams): FieldValidation {
  const value = query.get("fieldValidation") ?? "";
  if (value === "") return "Warn";
  if (value === "Ignore" || value === "Warn" || value === "Strict") return value;
  const supported = `supported values: "Ignore", "Strict", "Warn"`;
  throw badRequest(`fieldValidation: Unsupported value: ${JSON.stringify(value)}: ${supported}`);
}

export async function readPatch(request: ApiRequest): Promise<Patch> {
  const fieldValidation = parseFieldValidation(request.query);
  const body = await request.readBody();
  return parsePatch(request.headers["content-type"] ?? "", body.toString(), { fieldValidation });
}

export function parseDryRun(query: URLSearchParams): boolean {
  const values = query.getAll("dryRun").filter(Boolean);
  const unknown = values.find((value) => value !== "All");
  if (unknown)
    throw badRequest(`dryRun: Unsupported value: ${JSON.stringify(unknown)}: supported values: "All"`);
  return values.length > 0;
}

const propagationPolicies = ["Orphan", "Background", "Foreground"];

/** From the body where there is one, else from the query. */
export async function parseDeleteOptions(request: ApiRequest): Promise<DeleteOptions> {
  const body = await request.readBody();
  const options = body.length > 0 ? await readOptions(request, body) : optionsOfQuery(request.query);
  if (parseDryRun(request.query)) options.dryRun = ["All"];
  const { propagationPolicy, orphanDependents, gracePeriodSeconds } = options;
  if (propagationPolicy && !propagationPolicies.includes(propagationPolicy)) {
    const supported = propagationPolicies.map((policy) => JSON.stringify(policy)).join(", ");
    throw badRequest(
      `propagationPolicy: Unsupported value: ${JSON.stringify(propagationPolicy)}: supported values: ${supported}`,
    );
  }
  if (propagationPolicy && orphanDependents !== undefined) {
    throw badRequest("orphanDependents and deletionPropagation cannot be both set");
  }
  if (gracePeriodSeconds !== undefined && gracePeriodSeconds < 0) {
    throw badRequest(
      `gracePeriodSeconds: Invalid value: ${gracePeriodSeconds}: must be greater than or equal to 0`,
    );
  }
  return options;
}

async function readOptions(request: ApiRequest, body: Buffer): Promise<DeleteOptions> {
  const text = await bodyAsJson(body, request.headers["content-type"]);
  try {
    // Clients write the options' version as the core's or as that of the group they delete from: either will do.
    return { ...decodeObject("meta.v1.DeleteOptions", JSON.parse(text)).object };
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof SyntaxError)) throw error;
    throw badRequest(`the body of a delete must be DeleteOptions: ${error.message}`);
  }
}

function optionsOfQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  if (grace && !Number.isSafeInteger(/^-?\d+$/.test(grace) ? Number(grace) : Number.NaN))
    throw badRequest(`gracePeriodSeconds: ${JSON.stringify(grace)} is not an integer`);
  return {
    ...(grace && { gracePeriodSeconds: Number(grace) }),
    ...(query.has("propagationPolicy") && { propagationPolicy: query.get("propagationPolicy") ?? "" }),
    ...(query.has("orphanDependents") && { orphanDependents: isTrue(query.get("orphanDependents")) }),
  };
}
