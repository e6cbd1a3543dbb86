import { isJsonObject } from "../schema/json-object.ts";

/** Error of a patch that cannot be applied. Converted to a StatusError by `kind`. */
export class PatchError extends Error {
  readonly kind: PatchErrorKind;

  constructor(kind: PatchErrorKind, message: string) {
    super(message);
    this.name = "PatchError";
    this.kind = kind;
  }
}

/** `malformed`: invalid for any object; `doesNotApply`: does not match the object; otherwise it exceeds a limit. */
export type PatchErrorKind = "malformed" | "doesNotApply" | "tooLarge";

export function malformed(message: string): PatchError {
  return new PatchError("malformed", message);
}

export function doesNotApply(message: string): PatchError {
  return new PatchError("doesNotApply", message);
}

/** Formats JSON like Go's `%v`: `map[name:web ports:[80 81]]`. Upstream's messages contain patches in this form. */
export function formatGo(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(formatGo).join(" ")}]`;
  if (!isJsonObject(value)) return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, child]) => `${key}:${formatGo(child)}`).join(" ")}]`;
}
