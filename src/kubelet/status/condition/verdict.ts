import type { PodCondition } from "../../../api/objects.ts";

/** What one generator says; when it became so, and of which generation, is added for all of them alike. */
export type Verdict = Pick<PodCondition, "type" | "status" | "reason" | "message">;

export function isTrue(type: string, reason?: string): Verdict {
  return { type, status: "True", ...(reason && { reason }) };
}

export function isFalse(type: string, reason?: string, message?: string): Verdict {
  return { type, status: "False", ...(reason && { reason }), ...(message && { message }) };
}

/** `containers with unready status: [a b]`; nothing for no names. */
export function namingContainers(what: string, names: readonly string[]): string[] {
  return names.length > 0 ? [`containers with ${what} status: [${names.join(" ")}]`] : [];
}
