export interface WaitingReason {
  /** Whether the container may still start without anybody changing the pod, or what it refers to, for it. */
  readonly healsByItself: boolean;
  /** What the container waits for, in one sentence. */
  readonly meaning: string;
}

/**
 * Every reason for which a container waits, as kubelets write it in `state.waiting.reason`, and whether waiting can
 * help. A pod with a container whose reason does not heal by itself is failing to start (KEP-3815). In doubt a reason
 * heals: the condition must never be true of a pod that is about to run.
 */
export const waitingReasons: ReadonlyMap<string, WaitingReason> = new Map([
  // On the way to running.
  heals("ContainerCreating", "Its volumes, network or sandbox are being made, or it is next."),
  heals("PodInitializing", "Init containers have to finish first."),
  heals("RestartingAllContainers", "All containers of the pod are started again."),

  // The image. A registry, a network or a missing tag can come back; a name that cannot be read stays so.
  heals("ErrImagePull", "The image could not be pulled; the next attempt comes soon."),
  heals("ImagePullBackOff", "The image could not be pulled; the next attempt waits longer each time."),
  heals("RegistryUnavailable", "The registry does not answer."),
  heals("ImageInspectError", "The runtime could not say whether it has the image."),
  heals("SignatureValidationFailed", "The image's signature was refused; it is pulled and checked again."),
  stays("InvalidImageName", "The image's name cannot be read: correct `image`."),
  stays("ErrImageNeverPull", "The image is not on the node and `imagePullPolicy` is Never."),

  // Making the container. What it refers to is missing, or the runtime failed at it.
  stays(
    "CreateContainerConfigError",
    "What the container refers to is missing, or the image breaks `runAsNonRoot`: create it, or correct the pod.",
  ),
  heals("CreateContainerError", "The runtime could not make the container; it is asked again."),
  heals("PreCreateHookError", "A step before the container is made failed; it is done again."),

  // Starting it. The same command may find what it needs the next time.
  heals("PreStartHookError", "A step before the container is started failed; it is done again."),
  heals("PostStartHookError", "The postStart hook failed; the container is started again."),
  heals("RunContainerError", "The runtime could not start the container; it is asked again."),
  heals("CrashLoopBackOff", "The container ended again and again; the next start waits longer each time."),
]);

/** Reasons that nobody has listed do: see the table. */
export function healsByItself(reason: string): boolean {
  return waitingReasons.get(reason)?.healsByItself ?? true;
}

function heals(reason: string, meaning: string): [string, WaitingReason] {
  return [reason, { healsByItself: true, meaning }];
}

function stays(reason: string, meaning: string): [string, WaitingReason] {
  return [reason, { healsByItself: false, meaning }];
}
