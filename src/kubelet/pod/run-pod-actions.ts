import type { Container, Pod } from "../../api/objects.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import { criErrorText } from "../../cri/error-text.ts";
import type { ContainerConfig, PodSandboxConfig } from "../../cri/generated/cri.ts";
import type { ImagePuller } from "../image/image-puller.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { StartError } from "../start-error.ts";
import type { StartProblem } from "../status/status-facts.ts";
import type { MountedVolumes, PodVolumes } from "../volume/pod-volumes.ts";
import type { PodAction } from "./decide-pod-actions.ts";
import { containerFieldPath, type KillDeps, killContainer } from "./kill-container.ts";
import { runLifecycleHook } from "./run-lifecycle-hook.ts";

export interface PodActionDeps extends KillDeps {
  readonly images: ImagePuller;
  readonly volumes: PodVolumes;
  /** The runtime handler of the pod's RuntimeClass; throws when there is no such class. */
  readonly runtimeHandler: (pod: Pod) => string;
  readonly prepareSandbox: (request: { pod: Pod; attempt: number }) => Promise<PodSandboxConfig>;
  readonly prepareContainer: (request: ContainerRequest) => Promise<ContainerConfig>;
}

export interface ContainerRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly restartDelayMs: number;
  readonly imageRef: string;
  readonly podIps: readonly string[];
  readonly volumes: MountedVolumes;
  readonly signal: AbortSignal;
}

/** Where the steps of one pod say how they went, for its status. */
export interface StepReports {
  sandboxProblem(problem: StartProblem | undefined): void;
  containerProblem(name: string, problem: StartProblem | undefined): void;
  /** Something changed in the runtime: the status need not wait for the rest of the plan. */
  acted(): Promise<void>;
}

export interface RunOptions {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly actions: readonly PodAction[];
  readonly reports: StepReports;
  readonly signal: AbortSignal;
}

/**
 * Carries a plan out, one action after the other. A container that cannot be started does not keep the next one from
 * being tried; a sandbox that cannot be made ends the plan. False when something failed and is to be tried again.
 */
export async function runPodActions(deps: PodActionDeps, options: RunOptions): Promise<boolean> {
  const { pod, actions, signal, reports } = options;
  let succeeded = true;
  let volumes: MountedVolumes | undefined;
  for (const action of actions) {
    signal.throwIfAborted();
    switch (action.kind) {
      case "killContainer":
        await killContainer(deps, {
          pod,
          observed: action.observed,
          podIp: options.observed?.sandboxes[0]?.ips[0],
          message: action.why.message,
          gracePeriodSeconds: action.why.gracePeriodSeconds ?? graceSeconds(pod),
          signal,
        });
        break;
      case "stopSandbox":
        await deps.cri.runtime.stopPodSandbox({ podSandboxId: action.sandbox.id }, { signal });
        break;
      case "createSandbox":
        if (!(await createSandbox(deps, { ...options, attempt: action.attempt }))) return false;
        break;
      case "startContainer": {
        volumes ??= await setUpVolumes(deps, options);
        if (!volumes) return false;
        if (!(await startContainer(deps, { ...options, action, volumes }))) succeeded = false;
        break;
      }
    }
    await reports.acted();
  }
  return succeeded;
}

export function graceSeconds(pod: Pod): number {
  return pod.metadata.deletionGracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 30;
}

/** Undefined when they cannot be made; the pod's status and events say why. */
async function setUpVolumes(
  deps: PodActionDeps,
  { pod, reports, signal }: RunOptions,
): Promise<MountedVolumes | undefined> {
  try {
    return await deps.volumes.setUp(pod, signal);
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
  const { pod, attempt, reports, signal } = options;
  if (attempt > 0) {
    deps.recorder.record(pod, {
      type: "Normal",
      reason: "SandboxChanged",
      message: "Pod sandbox changed, it will be killed and re-created.",
    });
  }
  if (!(await setUpVolumes(deps, options))) return false;
  try {
    const runtimeHandler = deps.runtimeHandler(pod);
    const config = await deps.prepareSandbox({ pod, attempt });
    await deps.cri.runtime.runPodSandbox({ config, runtimeHandler }, { signal, timeoutMs: 240_000 });
    reports.sandboxProblem(undefined);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    const message = `Failed to create pod sandbox: ${criErrorText(error)}`;
    reports.sandboxProblem({ reason: "FailedCreatePodSandBox", message });
    deps.recorder.record(pod, { type: "Warning", reason: "FailedCreatePodSandBox", message });
    return false;
  }
}

type StartOptions = RunOptions & {
  readonly action: Extract<PodAction, { kind: "startContainer" }>;
  readonly volumes: MountedVolumes;
};

async function startContainer(deps: PodActionDeps, options: StartOptions): Promise<boolean> {
  const { pod, action, reports, signal } = options;
  const { name } = action.container;
  try {
    await makeAndStart(deps, options);
    reports.containerProblem(name, undefined);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    reports.containerProblem(name, problemOf(error));
    // The puller has said on the pod what there is to say about its own failures.
    if (!(error instanceof StartError && error.recorded)) {
      recordFor(deps.recorder, pod, name)("Warning", "Failed", `Error: ${criErrorText(error)}`);
    }
    return false;
  }
}

async function makeAndStart(deps: PodActionDeps, options: StartOptions): Promise<void> {
  const { pod, action, volumes, signal } = options;
  const { container, attempt, sandbox } = action;
  const record = recordFor(deps.recorder, pod, container.name);
  const runtimeHandler = deps.runtimeHandler(pod);
  const imageRef = await deps.images.ensureImage({ pod, container, runtimeHandler, signal });
  const config = await deps.prepareContainer({
    pod,
    container,
    attempt,
    restartDelayMs: action.nextRestartDelayMs,
    imageRef,
    podIps: sandbox.ips,
    volumes,
    signal,
  });
  if (action.replaces)
    await deps.cri.runtime.removeContainer({ containerId: action.replaces.id }, { signal });
  const sandboxConfig = await deps.prepareSandbox({ pod, attempt: sandbox.attempt });
  const { containerId } = await failingAs("CreateContainerError", () =>
    deps.cri.runtime.createContainer({ podSandboxId: sandbox.id, config, sandboxConfig }, { signal }),
  );
  record("Normal", "Created", "Container created");
  await failingAs("RunContainerError", () => deps.cri.runtime.startContainer({ containerId }, { signal }));
  record("Normal", "Started", "Container started");
  const postStart = container.lifecycle?.postStart;
  if (!postStart) return;
  // It runs already: probes and the status do not wait for the hook.
  await options.reports.acted();
  const podIp = sandbox.ips[0];
  try {
    await runLifecycleHook(deps, postStart, { pod, container, containerId, podIp, signal });
  } catch (error) {
    signal.throwIfAborted();
    record("Warning", "FailedPostStartHook", "PostStartHook failed");
    await stopAfterHook(deps, { ...options, containerId });
    throw new StartError("PostStartHookError", criErrorText(error), { cause: error, recorded: true });
  }
}

/** A container whose postStart hook failed is not what was asked for: it goes, and is restarted by its policy. */
async function stopAfterHook(
  deps: PodActionDeps,
  { pod, action, containerId, signal }: StartOptions & { containerId: string },
): Promise<void> {
  recordFor(deps.recorder, pod, action.container.name)("Normal", "Killing", "FailedPostStartHook");
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

async function failingAs<T>(reason: string, work: () => Promise<T>): Promise<T> {
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
  return error instanceof StartError && error.failures.length > 0 ? error.failures : [criErrorText(error)];
}
