import { badRequest } from "../../api/status-error.ts";

/** Where the next page of a list begins, and as of which revision. */
export interface ContinueToken {
  /** Undefined: the rest of the list as it is now, for a client whose revision was compacted away. */
  readonly revision: number | undefined;
  /** The last key of the page before, without the prefix of the list. */
  readonly after: string;
}

const formatVersion = "meta.k8s.io/v1";

export function encodeContinue(token: ContinueToken): string {
  const json = JSON.stringify({ v: formatVersion, rv: token.revision ?? -1, start: token.after });
  return Buffer.from(json).toString("base64url");
}

export function decodeContinue(text: string): ContinueToken {
  const token = parse(text);
  if (token?.v !== formatVersion || !Number.isSafeInteger(token.rv) || typeof token.start !== "string") {
    throw badRequest(
      "continue key is not valid: it must be the continue field of an earlier answer, unchanged",
    );
  }
  return { revision: token.rv < 0 ? undefined : token.rv, after: token.start };
}

function parse(text: string): { v?: unknown; rv: number; start?: unknown } | undefined {
  try {
    const token = JSON.parse(Buffer.from(text, "base64url").toString());
    return typeof token === "object" && token !== null ? token : undefined;
  } catch {
    return undefined;
  }
}
