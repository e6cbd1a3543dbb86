import { conditionOf } from "../../api/conditions.ts";
import type { Event, Pod } from "../../api/objects.ts";
import { healsByItself } from "../../api/waiting-reasons.ts";

export interface UserError {
  /** One of a few words, fit to count by. */
  readonly reason: string;
  /** One line for people. */
  readonly message: string;
}

// A volume of several sources gives a list.
const missingObject =
  /MountVolume\.SetUp failed for volume "[^"]*" : \[?((secret|configmap) "[^"]*" not found)/;
const longestMessage = 200;

/** What is wrong with the pod itself, where its status says so. Neither the cluster nor its plugins can help that. */
export function findUserError(pod: Pod): UserError | undefined {
  const { status } = pod;
  const failing = conditionOf(pod, "FailingToStart");
  if (failing?.status === "True") return userError(failing.reason ?? "FailingToStart", failing.message);
  const sandbox = conditionOf(pod, "PodReadyToStartContainers");
  const mount = sandbox?.status === "False" ? missingMount(sandbox.message) : undefined;
  if (mount) return mount;
  // Kubelets that do not have the condition FailingToStart have the reasons it is made from.
  for (const { state } of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason, message } = state?.waiting ?? {};
    if (reason !== undefined && !healsByItself(reason)) return userError(reason, message);
  }
  return undefined;
}

/** KEP-3085: mounts that fail because a secret or config map does not exist are the user's. */
export function userErrorIn({ reason, message }: Event): UserError | undefined {
  return reason === "FailedMount" ? missingMount(message) : undefined;
}

function missingMount(message: string | undefined): UserError | undefined {
  const [, missing, kind] = missingObject.exec(message ?? "") ?? [];
  if (!missing) return undefined;
  return userError(kind === "secret" ? "MissingSecret" : "MissingConfigMap", missing);
}

function userError(reason: string, message: string | undefined): UserError {
  return { reason, message: (message ? `${reason}: ${message}` : reason).slice(0, longestMessage) };
}
