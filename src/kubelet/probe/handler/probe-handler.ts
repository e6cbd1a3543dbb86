import type { Container, Probe } from "../../../api/objects.ts";

/** What a probe is run on. */
export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  /** The pod's primary address; none before it is known. */
  readonly ip: string | undefined;
}

/** How a run ended: `output` goes into events. An error is a run that says nothing of the container. */
export type ProbeOutcome =
  | { readonly kind: "success" }
  | { readonly kind: "warning" | "failure"; readonly output: string }
  | { readonly kind: "error"; readonly state: "failure" | "unknown"; readonly message: string };

export interface RunOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Runs a probe once. Ends within the timeout; aborted, it rejects or answers anything. */
export type ProbeHandler = (probe: Probe, target: ProbeTarget, options: RunOptions) => Promise<ProbeOutcome>;

export function failed(output: string): ProbeOutcome {
  return { kind: "failure", output };
}

export function notRun(message: string): ProbeOutcome {
  return { kind: "error", state: "unknown", message };
}
