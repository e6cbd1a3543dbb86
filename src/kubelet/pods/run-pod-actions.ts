// Clauses: 3085-3, 950-7, 950-9
import type { Container, Pod, RuntimeClass } from "../../api/meta/objects.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { criErrorText, withoutRandomIds } from "../../cri/error-text.ts";
import type { ContainerConfig } from "../../cri/generated/cri.ts";
import type { PrepareRequest } from "../containers/prepare-container.ts";
import type { PreparedSandbox } from "../containers/prepare-sandbox.ts";
import type { ImagePuller } from "../images/image-puller.ts";
import { containerFieldPath } from "../model/cri-labels.ts";
import { runtimeHandlerOf } from "../model/node-facts.ts";
import type { ObservedPod, ObservedSandbox } from "../model/observed-pod.ts";
import { StartError } from "../model/start-error.ts";
import type { StartProblem } from "../status/status-facts.ts";
import type { MountedVolumes } from "../volumes/pod-volumes.ts";
import type { PodPart } from "./pod-observer.ts";
import type { PodAction } from "./pod-plan.ts";
import { runLifecycleHook } from "./run-lifecycle-hook.ts";
import { type KillDeps, killContainer } from "./stop-pod.ts";

export interface PodActionDeps extends KillDeps {
  readonly images: ImagePuller;
  readonly findRuntimeClass: (name: string) => RuntimeClass | undefined;
  readonly prepareSandbox: (request: { pod: Pod; attempt: number }) => Promise<PreparedSandbox>;
  readonly prepareContainer: (request: PrepareRequest) => Promise<ContainerConfig>;
  readonly protectPod?: ProtectPod;
}

/** Puts the network policies of a pod at these addresses in place. Called before each of its containers starts. */
export type ProtectPod = (pod: Pod, addresses: readonly string[], signal: AbortSignal) => Promise<void>;

/** Callbacks with the results of actions, for the pod's status. */
interface StepReports {
  sandboxProblem(problem: StartProblem | undefined): void;
  containerProblem(name: string, problem: StartProblem | undefined): void;
  /** Called before a container with a postStart hook starts: it is not ready until the hook has completed. */
  hookBegins(containerId: string): Promise<void>;
  hookEnded(containerId: string): Promise<void>;
  /** Called after a change in the runtime; only `part` is read again if it is given. */
  runtimeChanged(part?: PodPart): Promise<void>;
}

export interface RunOptions {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly actions: readonly PodAction[];
  readonly reports: StepReports;
  /** Sets up the pod's volumes unless they are mounted already; see PodVolumes.setUp. */
  readonly mountVolumes: (signal: AbortSignal, onGathered?: () => void) => Promise<MountedVolumes>;
  /** Runs a postStart hook of this container, and aborts the plan if a probe fails meanwhile. */
  readonly duringHook: (containerId: string, hook: () => Promise<void>) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Runs the actions of a plan in order. After a container that fails to start it continues with the next one; a sandbox
 * that cannot be created ends the plan. Returns false when an action failed and the plan has to be retried.
 */
export async function runPodActions(deps: PodActionDeps, options: RunOptions): Promise<boolean> {
  const { pod, actions, signal, reports } = options;
  let succeeded = true;
  for (const action of actions) {
    signal.throwIfAborted();
    switch (action.kind) {
      case "killContainer":
        await reports.hookEnded(action.observed.id);
        await killContainer(deps, {
          pod,
          observed: action.observed,
          podIp: options.observed?.sandboxes[0]?.ips[0],
          message: action.why.message,
          gracePeriodSeconds: action.why.gracePeriodSeconds ?? graceSeconds(pod),
          signal,
        });
        await reports.runtimeChanged();
        break;
      case "stopSandbox":
        await deps.cri.runtime.stopPodSandbox({ podSandboxId: action.sandbox.id }, { signal });
        await reports.runtimeChanged();
        break;
      case "createSandbox":
        if (!(await createSandbox(deps, { ...options, attempt: action.attempt }))) return false;
        break;
      case "startContainer": {
        const volumes = await mountOrReport(deps, options);
        if (!volumes) return false;
        if (!(await startContainer(deps, { ...options, action, volumes }))) succeeded = false;
        break;
      }
      case "resumePostStart": {
        const { container, sandbox, observed } = action;
        const hooked = await finishStart(deps, { ...options, container, sandbox, containerId: observed.id });
        if (!hooked) succeeded = false;
        break;
      }
    }
  }
  return succeeded;
}

export function graceSeconds(pod: Pod): number {
  return pod.metadata.deletionGracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 30;
}

/** Mounts the pod's volumes. On failure, reports it in status and events and returns undefined. */
async function mountOrReport(
  deps: PodActionDeps,
  { pod, reports, mountVolumes: mount, signal }: RunOptions,
  onGathered?: () => void,
): Promise<MountedVolumes | undefined> {
  try {
    return await mount(signal, onGathered);
  } catch (error) {
    signal.throwIfAborted();
    const problem = { reason: "FailedMount", message: criErrorText(error) };
    reports.sandboxProblem(problem);
    for (const message of mountFailures(error)) {
      deps.recorder.record(pod, { type: "Warning", reason: "FailedMount", message });
    }
    return undefined;
  }
}

async function createSandbox(
  deps: PodActionDeps,
  options: RunOptions & { attempt: number },
): Promise<boolean> {
  const { pod, attempt, reports } = options;
  if (attempt > 0) {
    deps.recorder.record(pod, {
      type: "Normal",
      reason: "SandboxChanged",
      message: "Pod sandbox changed, it will be killed and re-created.",
    });
  }
  // The sandbox waits until all objects that the volumes need exist; mounting continues in parallel with its creation.
  let proceed = () => {};
  const gathered = new Promise<true>((resolve) => {
    proceed = () => resolve(true);
  });
  const mounting = mountOrReport(deps, options, proceed);
  if (!(await Promise.race([gathered, mounting]))) return false;
  const [created, mounted] = await Promise.allSettled([runSandbox(deps, options), mounting]);
  if (created.status === "rejected") throw created.reason;
  if (mounted.status === "rejected") throw mounted.reason;
  if (created.value === undefined) return false;
  if (mounted.value) reports.sandboxProblem(undefined);
  await reports.runtimeChanged({ sandboxId: created.value });
  return mounted.value !== undefined;
}

/** Runs a new sandbox and returns its id. On failure, reports it in status and events and returns undefined. */
async function runSandbox(
  deps: PodActionDeps,
  { pod, attempt, reports, signal }: RunOptions & { attempt: number },
): Promise<string | undefined> {
  try {
    const runtimeHandler = runtimeHandlerOf(pod, deps.findRuntimeClass);
    const { config, warnings } = await deps.prepareSandbox({ pod, attempt });
    const request = { config, runtimeHandler };
    const made = await deps.cri.runtime.runPodSandbox(request, { signal, timeoutMs: 240_000 });
    // Warnings, for example about a missing cluster DNS, are recorded once and not with every attempt.
    if (attempt === 0) for (const warning of warnings) deps.recorder.record(pod, warning);
    return made.podSandboxId;
  } catch (error) {
    signal.throwIfAborted();
    const message = `Failed to create pod sandbox: ${criErrorText(error)}`;
    reports.sandboxProblem({ reason: "FailedCreatePodSandBox", message });
    deps.recorder.record(pod, { type: "Warning", reason: "FailedCreatePodSandBox", message });
    return undefined;
  }
}

type ContainerOptions = RunOptions & {
  readonly container: Container;
  readonly sandbox: ObservedSandbox;
};

type StartOptions = RunOptions & {
  readonly action: Extract<PodAction, { kind: "startContainer" }>;
  readonly volumes: MountedVolumes;
};

async function startContainer(deps: PodActionDeps, options: StartOptions): Promise<boolean> {
  const { action, reports } = options;
  const { container, sandbox } = action;
  const containerId = await orReport(deps, { ...options, container }, () => createAndStart(deps, options));
  if (containerId === undefined) return false;
  // The container runs: probes and status do not wait for the postStart hook.
  await reports.runtimeChanged({ sandboxId: sandbox.id, containerId });
  return finishStart(deps, { ...options, container, sandbox, containerId });
}

/** Runs the postStart hook of a running container and clears its start problem. */
async function finishStart(deps: PodActionDeps, options: HookOptions): Promise<boolean> {
  if (!(await orReport(deps, options, () => runPostStart(deps, options)))) return false;
  options.reports.containerProblem(options.container.name, undefined);
  return true;
}

/** Runs one step of a container's start. On failure, reports it in status and events and returns undefined. */
async function orReport<T>(
  deps: PodActionDeps,
  { pod, container: { name }, reports, signal }: RunOptions & { readonly container: Container },
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    reports.containerProblem(name, problemOf(error));
    // The image puller and the hook have recorded events for their failures.
    if (!(error instanceof StartError && error.recorded)) {
      recordFor(deps.recorder, pod, name)("Warning", "Failed", `Error: ${criErrorText(error)}`);
    }
    return undefined;
  }
}

/** Pulls the image, creates the container and starts it. Returns its id. */
async function createAndStart(deps: PodActionDeps, options: StartOptions): Promise<string> {
  const { pod, action, volumes, signal } = options;
  const { container, attempt, sandbox } = action;
  const record = recordFor(deps.recorder, pod, container.name);
  const runtimeHandler = runtimeHandlerOf(pod, deps.findRuntimeClass);
  const imageRef = await deps.images.ensureImage({ pod, container, runtimeHandler, signal });
  if (!pod.spec?.hostNetwork) await deps.protectPod?.(pod, sandbox.ips, signal);
  const [config, { config: sandboxConfig }] = await Promise.all([
    deps.prepareContainer({
      pod,
      container,
      attempt,
      restartDelayMs: action.nextRestartDelayMs,
      imageRef,
      podIps: sandbox.ips,
      volumes,
      signal,
    }),
    deps.prepareSandbox({ pod, attempt: sandbox.attempt }),
  ]);
  if (action.replaces)
    await deps.cri.runtime.removeContainer({ containerId: action.replaces.id }, { signal });
  const { containerId } = await wrapStartError("CreateContainerError", () =>
    deps.cri.runtime.createContainer({ podSandboxId: sandbox.id, config, sandboxConfig }, { signal }),
  );
  record("Normal", "Created", "Container created");
  if (container.lifecycle?.postStart) await options.reports.hookBegins(containerId);
  await wrapStartError("RunContainerError", () =>
    deps.cri.runtime.startContainer({ containerId }, { signal }),
  );
  record("Normal", "Started", "Container started");
  return containerId;
}

type HookOptions = ContainerOptions & { readonly containerId: string };

/** Runs the postStart hook, if there is one. Throws a StartError when it fails. */
async function runPostStart(deps: PodActionDeps, options: HookOptions): Promise<true> {
  const { pod, container, sandbox, containerId, reports, signal } = options;
  const postStart = container.lifecycle?.postStart;
  if (!postStart) return true;
  const podIp = sandbox.ips[0];
  try {
    await options.duringHook(containerId, () =>
      runLifecycleHook(deps, postStart, { pod, container, containerId, podIp, signal }),
    );
  } catch (error) {
    signal.throwIfAborted();
    recordFor(deps.recorder, pod, container.name)("Warning", "FailedPostStartHook", "PostStartHook failed");
    await stopAfterHook(deps, options);
    await reports.hookEnded(containerId);
    throw new StartError("PostStartHookError", criErrorText(error), { cause: error, recorded: true });
  }
  await reports.hookEnded(containerId);
  return true;
}

/** Stops a container whose postStart hook failed; its restart policy decides what follows. */
async function stopAfterHook(
  deps: PodActionDeps,
  { pod, container, containerId, signal }: HookOptions,
): Promise<void> {
  recordFor(deps.recorder, pod, container.name)("Normal", "Killing", "FailedPostStartHook");
  await deps.cri.runtime.stopContainer(
    { containerId, timeout: BigInt(graceSeconds(pod)) },
    { signal, timeoutMs: (graceSeconds(pod) + 120) * 1_000 },
  );
}

function recordFor(recorder: EventRecorder, pod: Pod, containerName: string) {
  const fieldPath = containerFieldPath(pod, containerName);
  return (type: "Normal" | "Warning", reason: string, message: string) =>
    recorder.record(pod, { type, reason, message, fieldPath });
}

async function wrapStartError<T>(reason: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StartError ? error : new StartError(reason, criErrorText(error), { cause: error });
  }
}

function problemOf(error: unknown): StartProblem {
  const reason = error instanceof StartError ? error.reason : "CreateContainerError";
  return { reason, message: criErrorText(error) };
}

function mountFailures(error: unknown): readonly string[] {
  if (!(error instanceof StartError) || error.failures.length === 0) return [criErrorText(error)];
  return error.failures.map(withoutRandomIds);
}
