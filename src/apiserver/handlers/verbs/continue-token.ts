import { badRequest } from "../../../api/meta/status-error.ts";
import { goSyntaxError } from "../../../api/schema/decode-error.ts";

/** Position and revision of the next page of a list. */
export interface ContinueToken {
  /** Undefined for the current revision, if the client's revision was compacted. */
  readonly revision: number | undefined;
  /** Last key of the previous page, without the prefix of the list. */
  readonly after: string;
}

const formatVersion = "meta.k8s.io/v1";

export function encodeContinue(token: ContinueToken): string {
  const json = JSON.stringify({ v: formatVersion, rv: token.revision ?? -1, start: token.after });
  return Buffer.from(json).toString("base64url");
}

export function decodeContinue(text: string): ContinueToken {
  const { v, rv, start } = parse(text);
  if (v !== formatVersion) throw refused(`server does not recognize this encoded version ${v}`);
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0)
    throw refused(`incorrect encoded start resourceVersion (version ${formatVersion})`);
  if (typeof start !== "string" || start === "")
    throw refused(`encoded start key empty (version ${formatVersion})`);
  if (start.split("/").includes("..")) throw refused(start);
  return { revision: rv < 0 ? undefined : rv, after: start };
}

interface RawToken {
  readonly v?: unknown;
  readonly rv?: unknown;
  readonly start?: unknown;
}

function parse(text: string): RawToken {
  const stranger = text.search(/[^A-Za-z0-9_-]/);
  if (stranger >= 0) throw refused(`illegal base64 data at input byte ${stranger}`);
  const json = Buffer.from(text, "base64url").toString();
  try {
    const token: unknown = JSON.parse(json);
    return typeof token === "object" && token !== null ? token : {};
  } catch (error) {
    throw refused(error instanceof SyntaxError ? goSyntaxError(error, json) : String(error));
  }
}

function refused(reason: string) {
  return badRequest(`invalid continue token: continue key is not valid: ${reason}`);
}
