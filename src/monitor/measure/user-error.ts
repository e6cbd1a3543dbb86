import { conditionOf } from "../../api/meta/object-facts.ts";
import type { Event, Pod } from "../../api/meta/objects.ts";
import { findCause, setsFailingToStart } from "../../explain/causes.ts";
import { currentFailingToStart } from "../../explain/pod-health.ts";

export interface UserError {
  /** Reason with few distinct values, used as a metric label. */
  readonly reason: string;
  /** One line for users. */
  readonly message: string;
}

const maxMessageLength = 200;

/** Finds an error of the pod itself in its status, which neither the cluster nor its plugins can fix. */
export function findUserError(pod: Pod): UserError | undefined {
  const { status } = pod;
  const failing = currentFailingToStart(pod);
  if (failing) return userError(failing.reason ?? "FailingToStart", failing.message);
  const sandbox = conditionOf(pod, "PodReadyToStartContainers");
  const mount = sandbox?.status === "False" ? missingMount(sandbox.message) : undefined;
  if (mount) return mount;
  // Other kubelets lack the condition FailingToStart, but report the waiting reasons that it is derived from.
  for (const { state } of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason, message } = state?.waiting ?? {};
    if (reason !== undefined && setsFailingToStart(reason)) return userError(reason, message);
  }
  return undefined;
}

/** KEP-3085: mounts that fail because of a missing Secret, ConfigMap or key are user errors. */
export function userErrorIn({ reason, message }: Event): UserError | undefined {
  return reason === "FailedMount" ? missingMount(message) : undefined;
}

function missingMount(message = ""): UserError | undefined {
  const cause = findCause({ reason: "FailedMount", message });
  const [kind, name] = cause?.message?.exec(message)?.slice(1) ?? [];
  if (cause?.name === "MissingVolumeKey")
    return userError("MissingKey", `${kind} key ${name} does not exist`);
  if (cause?.name !== "MissingVolumeObject") return undefined;
  return userError(kind === "secret" ? "MissingSecret" : "MissingConfigMap", `${kind} "${name}" not found`);
}

function userError(reason: string, message: string | undefined): UserError {
  return { reason, message: (message ? `${reason}: ${message}` : reason).slice(0, maxMessageLength) };
}
