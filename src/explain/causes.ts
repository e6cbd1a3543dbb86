// Clauses: 3815-4
import { formatBytes } from "../lib/format-bytes.ts";
import { unwrapLogLine } from "../lib/unwrap-log-line.ts";
import {
  createMissingObject,
  describePod,
  type FixContext,
  outOfMemory,
  raiseMemoryLimit,
  readLog,
} from "./cause-fixes.ts";
import { changeImage, editObject, inCommands } from "./commands.ts";

/** A failure as the kubelet reports it: a waiting or terminated container, or a pod whose sandbox cannot be created. */
export interface Failure {
  /** Reason of the waiting or terminated state, of the condition, or of the event. */
  readonly reason: string;
  readonly message: string;
  /** Time that the container ran before it exited. */
  readonly ranMs?: number;
  /** Number of failed attempts, if known. */
  readonly attempts?: number;
  /** Time since the first failed attempt, if known. */
  readonly failingMs?: number;
}

/**
 * Whether retries can resolve a failure. A failure that is `permanent` needs a change of the pod or of an object that it
 * refers to, although the kubelet may retry.
 */
export type Recovery = "transient" | "permanent";

/** Row of the table of causes. */
export interface Cause {
  readonly name: string;
  /** Reasons that kubelets report for the cause. */
  readonly reasons: readonly string[];
  /** Text in the message of Kindling's runtime, containerd or CRI-O. A row without one applies to any message. */
  readonly message?: RegExp;
  /** Upper bound of the time that the container ran. */
  readonly ranAtMostMs?: number;
  /** `permanent-when-repeated`: permanent after several attempts or minutes, see `recoveryOf`. */
  readonly recovery: Recovery | "permanent-when-repeated";
  /** Whether the kubelet sets the condition FailingToStart (KEP-3815). */
  readonly setsFailingToStart: boolean;
  /** What the cause means, as one sentence without a period. Empty if the reason says it all. */
  readonly explanation: (context: FixContext) => string;
  readonly fix: (context: FixContext) => string;
}

const imageReasons = ["ErrImagePull", "ImagePullBackOff"];
const mountReasons = ["FailedMount", "FailedAttachVolume", "FailedMapVolume"];
const startReasons = [
  "CreateContainerError",
  "RunContainerError",
  "CrashLoopBackOff",
  "StartError",
  "ContainerCannotRun",
  "Error",
];

/** A container that runs longer than this before it is killed does not fail at start. */
const startMs = 60_000;

/**
 * Every known cause of a pod that does not start. The first row whose reason and message match applies. In doubt a cause is
 * transient: FailingToStart must never be true of a pod that is about to run.
 */
export const causes: readonly Cause[] = [
  // The image.
  permanent("InvalidImageName", ["InvalidImageName"], {
    setsFailingToStart: true,
    fix: (context) => `correct the name: ${changeImage(context)}`,
  }),
  permanent("ImageNotPresent", ["ErrImageNeverPull"], {
    setsFailingToStart: true,
    explanation: () => "The image is not on the node and imagePullPolicy is Never",
    fix: ({ pod, container }) =>
      `load ${container?.image} on node ${pod.spec?.nodeName}, or use imagePullPolicy: IfNotPresent in a new pod`,
  }),
  {
    ...transient("ImageNotFound", imageReasons, {
      message:
        / does not have .*check name and tag|failed to resolve (?:reference|image).*not found|manifest unknown|name unknown/s,
      explanation: () => "The registry does not have the image",
      fix: (context) => `correct the name or push the image: ${changeImage(context)}`,
    }),
    recovery: "permanent-when-repeated",
  },
  transient("ImagePullDenied", imageReasons, {
    message:
      / rejects .*: (?:it needs credentials|the credentials)|pull access denied|insufficient_scope|[Uu]nauthorized|403 Forbidden|authentication required|: denied\b/s,
    explanation: () => "The registry denies access to the image",
    fix: (context) =>
      `check spec.imagePullSecrets of the pod and that ${context.container?.image} exists; to correct the name: ${changeImage(context)}`,
  }),
  transient("ImagePullStalled", imageReasons, {
    message: /no progress, the registry(?: \S+)? sent nothing for \S+ s( after)?|context canceled/,
    explanation: ({ details: [amount] }) =>
      `The registry stopped sending data${amount ? "" : "; how much had arrived is not known"}`,
    fix: ({ pod }) =>
      `check the registry and the network between it and node ${pod.spec?.nodeName}; the pull is retried`,
  }),
  transient("RegistryUnreachable", [...imageReasons, "RegistryUnavailable"], {
    message:
      /cannot reach |ENOTFOUND|EAI_AGAIN|no such host|connection refused|i\/o timeout|network is unreachable|no route to host/,
    explanation: ({ pod }) => `Node ${pod.spec?.nodeName} cannot reach the registry`,
    fix: ({ pod }) => `check that node ${pod.spec?.nodeName} reaches the registry: network, DNS, proxy`,
  }),
  transient(
    "ImagePullFailed",
    [...imageReasons, "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed"],
    {
      fix: (context) =>
        `check that ${context.container?.image} exists and that spec.imagePullSecrets grant access; to correct the name: ${changeImage(context)}`,
    },
  ),

  // Objects that the container's configuration refers to.
  permanent("MissingConfigObject", ["CreateContainerConfigError"], {
    message: /(secret|configmap) "([^"]+)" not found/i,
    setsFailingToStart: true,
    fix: createMissingObject,
  }),
  permanent("MissingConfigKey", ["CreateContainerConfigError"], {
    message: /couldn't find key (\S+) in (ConfigMap|Secret) (\S+)/,
    setsFailingToStart: true,
    fix: ({ pod, details: [key = "", kind = "", place = ""] }) =>
      `add the key ${key}: ${editObject(pod, kind, place.split("/").at(-1) ?? "")}`,
  }),
  permanent("RunsAsRoot", ["CreateContainerConfigError"], {
    message: /runAsNonRoot/,
    setsFailingToStart: true,
    fix: ({ container }) =>
      `set securityContext.runAsUser of container ${container?.name} to a UID other than 0 in a new pod`,
  }),
  permanent("InvalidConfig", ["CreateContainerConfigError"], {
    setsFailingToStart: true,
    fix: describePod,
  }),

  // The container's process.
  permanent("MissingBinary", startReasons, {
    message:
      /exec: "([^"]+)": (?:executable file not found|no such file|stat [^:]*: no such file)|executable file `([^`]+)` not found/,
    explanation: ({ details }) => `The image does not contain the program ${details.find(Boolean)}`,
    fix: ({ container, details }) =>
      `the image has no ${details.find(Boolean)}: correct the command of container ${container?.name} in a new pod`,
  }),
  permanent("MissingCommand", startReasons, {
    message: /no command specified|specifies a command/,
    explanation: () => "Neither the container nor its image specifies a command",
    fix: ({ container }) =>
      `give container ${container?.name} a command in a new pod: ${container?.image} has none`,
  }),
  permanent("MemoryLimitTooLow", [...startReasons, "FailedCreatePodSandBox"], {
    message: /set memory limit (\d+) too low; should be at least (\d+) bytes/,
    explanation: ({ details: [limit, minimum] }) =>
      `The memory limit is ${formatBytes(Number(limit))}; the node's runtime requires at least ${formatBytes(Number(minimum))}`,
    fix: ({ details: [, minimum] }) =>
      `raise resources.limits.memory to at least ${Math.ceil(Number(minimum) / 2 ** 20)}Mi in a new pod`,
  }),
  permanent("OutOfMemory", startReasons, {
    message: /OOM-killed \(memory limit too low\?\)/,
    explanation: outOfMemory,
    fix: raiseMemoryLimit,
  }),
  permanent("OutOfMemory", ["OOMKilled"], {
    ranAtMostMs: startMs,
    explanation: outOfMemory,
    fix: raiseMemoryLimit,
  }),
  transient("OutOfMemory", ["OOMKilled"], { explanation: outOfMemory, fix: raiseMemoryLimit }),
  transient("PostStartHookFailed", ["PostStartHookError", "FailedPostStartHook"], {
    explanation: () => "The postStart hook failed, so the kubelet kills the container",
    fix: ({ container }) => `correct lifecycle.postStart of container ${container?.name}`,
  }),
  transient(
    "ContainerNotCreated",
    ["CreateContainerError", "PreCreateHookError", "PreStartHookError", "RunContainerError"],
    {
      fix: describePod,
    },
  ),
  transient("ContainerExits", ["CrashLoopBackOff", "Error", "StartError", "ContainerCannotRun"], {
    fix: readLog,
  }),

  // Volumes and sandbox.
  permanent("MissingVolumeObject", mountReasons, {
    // A CSI driver's own Secret is not the user's. A projected volume with several sources yields a list.
    message: /failed for volume "[^"]*" : \[?(secret|configmap) "([^"]+)" not found/,
    fix: createMissingObject,
  }),
  permanent("MissingVolumeKey", mountReasons, {
    message: /references non-existent (config|secret) key: ([^\s,\]]+)/,
    explanation: ({ details: [kind, key] }) =>
      `A volume refers to the key ${key}, which its ${kind === "secret" ? "Secret" : "ConfigMap"} does not have`,
    fix: ({ details: [, key] }) => `add the key ${key}, or remove it from the volume's items in a new pod`,
  }),
  permanent("UnsupportedVolume", mountReasons, {
    message: /not supported by this kubelet|no volume plugin matched/,
    explanation: () => "The kubelet of this node does not support the volume",
    fix: () => "use another type of volume in a new pod",
  }),
  transient("VolumeNotReady", mountReasons, {
    fix: ({ pod }) => `check its volumes: kubectl describe pod ${inCommands(pod)}`,
  }),
  permanent("MissingRuntimeHandler", ["FailedCreatePodSandBox"], {
    message:
      /no runtime for "([^"]*)" is configured|failed to find runtime handler (\S+)|runtimeclass\S* "([^"]+)" not found/i,
    explanation: ({ details }) => `The node's runtime has no handler ${details.find(Boolean)}`,
    fix: () =>
      "correct spec.runtimeClassName, or configure that handler in the node's runtime: kubectl get runtimeclasses",
  }),
  transient("SandboxNotCreated", ["FailedCreatePodSandBox"], {
    fix: ({ pod }) => `check the network plugin and the runtime of node ${pod.spec?.nodeName}`,
  }),
];

const failingToStartReasons = new Set(
  causes.filter(({ setsFailingToStart }) => setsFailingToStart).flatMap(({ reasons }) => reasons),
);

/** Whether a container that waits for this reason sets the condition FailingToStart of its pod. */
export function setsFailingToStart(reason: string): boolean {
  return failingToStartReasons.has(reason);
}

/** Finds the cause of a failure. Undefined for a reason that no row has; such a failure counts as transient. */
export function findCause({ reason, message, ranMs = Number.POSITIVE_INFINITY }: Failure): Cause | undefined {
  const text = unwrapLogLine(message);
  return causes.find(
    (cause) =>
      cause.reasons.includes(reason) &&
      (cause.message?.test(text) ?? true) &&
      ranMs <= (cause.ranAtMostMs ?? Number.POSITIVE_INFINITY),
  );
}

/** A registry may get an image a moment after the pod that uses it. */
const repeatedAttempts = 3;
const repeatedMs = 300_000;

export function recoveryOf(failure: Failure): Recovery {
  const recovery = findCause(failure)?.recovery ?? "transient";
  if (recovery !== "permanent-when-repeated") return recovery;
  const { attempts = 0, failingMs = 0 } = failure;
  return attempts >= repeatedAttempts || failingMs >= repeatedMs ? "permanent" : "transient";
}

/** Explanation and fix of a failure. Both are empty for a failure without a known cause. */
export function describeCause(
  failure: Failure,
  at: Pick<FixContext, "pod" | "container">,
): { readonly explanation: string; readonly fix: string } {
  const cause = findCause(failure);
  const details = cause?.message?.exec(unwrapLogLine(failure.message))?.slice(1) ?? [];
  return {
    explanation: cause?.explanation({ ...at, details }) ?? "",
    // Details come from messages; a line break would start another fix.
    fix: (cause?.fix({ ...at, details }) ?? describePod(at)).replaceAll(/[\r\n\u2028\u2029]+/g, " "),
  };
}

interface Row extends Pick<Cause, "message" | "ranAtMostMs" | "fix"> {
  readonly setsFailingToStart?: boolean;
  readonly explanation?: Cause["explanation"];
}

function permanent(name: string, reasons: readonly string[], row: Row): Cause {
  return { name, reasons, recovery: "permanent", setsFailingToStart: false, explanation: () => "", ...row };
}

function transient(name: string, reasons: readonly string[], row: Row): Cause {
  return { ...permanent(name, reasons, row), recovery: "transient" };
}
