/** A failed pull as the pod's status shows it. */
export interface PullFailure {
  readonly reason: "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed";
  readonly message: string;
}

/** Words that runtimes begin an error with, and what upstream makes of them. */
const known = [
  { reason: "RegistryUnavailable", because: "the registry is unavailable" },
  { reason: "SignatureValidationFailed", because: "the signature validation failed" },
] as const;

export function explainPullFailure(image: string, error: string): PullFailure {
  for (const { reason, because } of known) {
    if (error.startsWith(reason)) {
      return {
        reason,
        message: `image pull failed for ${image} because ${because}${error.slice(reason.length)}`,
      };
    }
  }
  return { reason: "ErrImagePull", message: error };
}

/** What several attempts failed with: each text once, in brackets where there is more than one. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
