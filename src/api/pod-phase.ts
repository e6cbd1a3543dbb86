/** Phases that a pod never leaves. */
export function isFinalPhase(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** Whether a pod has run for the last time. */
export function hasEnded({ status }: { readonly status?: { readonly phase?: string } }): boolean {
  return isFinalPhase(status?.phase);
}
