/** Aborts by itself or with its parent, whichever is first. */
export interface ChildAbort {
  readonly signal: AbortSignal;
  /** Also lets go of the parent: to be called when what took the signal is over. */
  abort(reason?: unknown): void;
}

/** Not AbortSignal.any: that leaves something of each call on the parent, for as long as the parent lives. */
export function createChildAbort(parent: AbortSignal): ChildAbort {
  const child = new AbortController();
  const follow = () => child.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener("abort", follow, { once: true });
  return {
    signal: child.signal,
    abort(reason) {
      parent.removeEventListener("abort", follow);
      child.abort(reason);
    },
  };
}
