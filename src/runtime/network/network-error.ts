/**
 * - `notAttached`: the pod has no network here
 * - `broken`: what attach made is no longer as it was
 * - `pluginFailed`, `pluginTimedOut`: a CNI plugin said no, or nothing
 * - `toolFailed`: a program of the machine (ip, unshare, iptables) failed
 * - `noAddress`: the subnet is used up
 * - `invalid`: the request or the configuration cannot be met
 */
export type NetworkErrorCode =
  | "notAttached"
  | "broken"
  | "pluginFailed"
  | "pluginTimedOut"
  | "toolFailed"
  | "noAddress"
  | "invalid";

export class NetworkError extends Error {
  override readonly name = "NetworkError";
  readonly code: NetworkErrorCode;

  constructor(code: NetworkErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function notAttached(podId: string): NetworkError {
  return new NetworkError("notAttached", `pod ${podId} has no network here`);
}

export function broken(podId: string, what: string): NetworkError {
  return new NetworkError("broken", `the network of pod ${podId} is broken: ${what}`);
}

/** Pod ids become names of files and arguments of plugins: CNI's own rule for container ids. */
export function checkPodId(podId: string): void {
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(podId))
    throw new NetworkError("invalid", `${JSON.stringify(podId)} cannot be the id of a pod`);
}
