import type { StatefulSet } from "../api/meta/objects.ts";

/** Annotation of a StatefulSet that says which of its unavailable pods may be replaced to continue a rollout. */
export const unstickAnnotation = "kindling.dev/unstick";

/** Annotation of a StatefulSet: seconds without progress after which its rollout has failed. */
const progressDeadlineAnnotation = "kindling.dev/progress-deadline-seconds";

export const unstickPolicies = ["always", "permanent-only", "never"] as const;

/**
 * Which unavailable pods of an old revision may be replaced:
 *
 * - `always`: all of them
 * - `permanent-only`: those that cannot recover without a change
 * - `never`: none
 */
export type UnstickPolicy = (typeof unstickPolicies)[number];

interface InvalidAnnotation {
  readonly reason: string;
  readonly message: string;
}

interface ParsedPolicy {
  readonly policy: UnstickPolicy;
  readonly invalid?: InvalidAnnotation;
}

/** Returns the unstick policy of a set. It is `always` without the annotation, and `never` for an unknown value. */
export function unstickPolicyOf({ metadata }: Pick<StatefulSet, "metadata">): ParsedPolicy {
  const value = metadata.annotations?.[unstickAnnotation];
  return value === undefined ? { policy: "always" } : parseUnstickPolicy(value, "annotation");
}

/** Parses a policy. An unknown value is treated as `never`. `source` says where the value comes from. */
export function parseUnstickPolicy(value: string, source: string): ParsedPolicy {
  const policy = unstickPolicies.find((known) => known === value);
  if (policy) return { policy };
  const message = `${source} ${unstickAnnotation} has the unknown value ${quote(value)} and is treated as never; use one of ${unstickPolicies.join(", ")}`;
  return { policy: "never", invalid: { reason: "InvalidUnstickPolicy", message } };
}

/** Default of the progress deadline, as for a Deployment's progressDeadlineSeconds. */
const defaultDeadlineSeconds = 600;
const maxDeadlineSeconds = 2 ** 31 - 1;

/** Returns the progress deadline of a set. An invalid value is replaced by the default. */
export function progressDeadlineOf({ metadata }: Pick<StatefulSet, "metadata">): {
  readonly progressDeadlineMs: number;
  readonly invalid?: InvalidAnnotation;
} {
  const value = metadata.annotations?.[progressDeadlineAnnotation];
  if (value === undefined) return { progressDeadlineMs: defaultDeadlineSeconds * 1_000 };
  const seconds = /^[0-9]+$/.test(value) ? Number(value) : 0;
  if (seconds > 0 && seconds <= maxDeadlineSeconds) return { progressDeadlineMs: seconds * 1_000 };
  const message = `annotation ${progressDeadlineAnnotation} must be a whole number of seconds from 1 to ${maxDeadlineSeconds}, not ${quote(value)}; the default of ${defaultDeadlineSeconds} s applies`;
  return {
    progressDeadlineMs: defaultDeadlineSeconds * 1_000,
    invalid: { reason: "InvalidProgressDeadline", message },
  };
}

/** Annotations may be 256 KiB long. */
function quote(value: string): string {
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}…` : value);
}
