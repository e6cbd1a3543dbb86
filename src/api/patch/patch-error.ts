/** A patch that cannot be applied. `kind` says whose fault it is; the edge makes a status of it. */
export class PatchError extends Error {
  readonly kind: PatchErrorKind;

  constructor(kind: PatchErrorKind, message: string) {
    super(message);
    this.name = "PatchError";
    this.kind = kind;
  }
}

/** The patch makes no sense by itself; it does not fit the object; it asks for too much. */
export type PatchErrorKind = "malformed" | "doesNotApply" | "tooLarge";

export function malformed(message: string): PatchError {
  return new PatchError("malformed", message);
}

export function doesNotApply(message: string): PatchError {
  return new PatchError("doesNotApply", message);
}
