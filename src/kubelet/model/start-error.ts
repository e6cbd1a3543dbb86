interface StartErrorOptions extends ErrorOptions {
  /** Whether events for this error have been recorded already. */
  readonly recorded?: boolean;
  /** Messages of failures that happened in parallel; each becomes its own event. */
  readonly failures?: readonly string[];
}

/**
 * Failure of a step in a pod's start, as reported in status and events. The only error class of the kubelet: `reason`
 * is upstream's reason (`ErrImagePull`, `CreateContainerConfigError`, `FailedMount`).
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

/** Creates the error for a pod spec from which no container configuration can be built. */
export function configError(message: string, options?: ErrorOptions): StartError {
  return new StartError("CreateContainerConfigError", message, options);
}
