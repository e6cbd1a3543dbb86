import type { Refusal } from "../../../client/delegated-auth/admit-caller.ts";
import { humanDuration } from "../../../lib/human-duration.ts";

/** What is wrong with what was pasted, as far as that shows without asking anybody; undefined where nothing is. */
export function faultOf(pasted: string): string | undefined {
  if (pasted === "") return "The field was empty: paste a token.";
  if (/\s/.test(pasted)) return "A token has no spaces or line breaks: paste the token alone.";
  return undefined;
}

/** Why somebody with a token is not let in, and what helps. */
export function describeRefusal(
  refusal: Refusal,
  { token, now }: { readonly token: string; readonly now: number },
): string {
  switch (refusal.kind) {
    case "forbidden":
      return `${refusal.user} is known to the cluster, but may not see this page: its administrator can allow it to get the non-resource URL /kindling/dashboard.`;
    case "unavailable":
      return "The cluster cannot be asked about the token just now: try again in a moment.";
    case "unknown": {
      const endMs = endOf(token);
      if (endMs !== undefined && endMs <= now) {
        return `This token ended ${humanDuration(now - endMs)} ago: make a new one.`;
      }
      return "The cluster does not know this token: it was cut off, was revoked, or belongs to another cluster.";
    }
  }
}

/** When the token says that it ends. Nobody has checked that: it only serves to tell its owner. */
function endOf(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    const isObject = typeof claims === "object" && claims !== null;
    if (isObject && "exp" in claims && typeof claims.exp === "number") return claims.exp * 1_000;
  } catch {
    // Not every token is one that can be read.
  }
  return undefined;
}
