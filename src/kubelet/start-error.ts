interface StartErrorOptions extends ErrorOptions {
  /** The events that tell of it have been recorded where it happened. */
  readonly recorded?: boolean;
  /** Where several things failed at once, each by itself: one event each. */
  readonly failures?: readonly string[];
}

/**
 * A step towards a running pod that failed, as the pod's status and events show it. The kubelet's one error class:
 * `reason` is the word upstream has for it (`ErrImagePull`, `CreateContainerConfigError`, `FailedMount`).
 */
export class StartError extends Error {
  readonly reason: string;
  readonly recorded: boolean;
  readonly failures: readonly string[];

  constructor(reason: string, message: string, options: StartErrorOptions = {}) {
    super(message, options);
    this.name = "StartError";
    this.reason = reason;
    this.recorded = options.recorded ?? false;
    this.failures = options.failures ?? [];
  }
}
