import type { Container, Pod } from "../../api/objects.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import { criErrorText } from "../../cri/error-text.ts";
import type { ContainerConfig } from "../../cri/generated/cri.ts";
import type { PrepareRequest } from "../container/prepare-container.ts";
import type { PreparedSandbox } from "../container/prepare-sandbox.ts";
import { containerFieldPath } from "../container-field-path.ts";
import type { ImagePuller } from "../image/image-puller.ts";
import type { ObservedPod, ObservedSandbox } from "../observed-pod.ts";
import type { PodPart } from "../pod-observer.ts";
import { StartError } from "../start-error.ts";
import type { StartProblem } from "../status/status-facts.ts";
import type { MountedVolumes } from "../volume/pod-volumes.ts";
import { type KillDeps, killContainer } from "./kill-container.ts";
import type { PodAction } from "./pod-plan.ts";
import { runLifecycleHook } from "./run-lifecycle-hook.ts";

export interface PodActionDeps extends KillDeps {
  readonly images: ImagePuller;
  /** The runtime handler of the pod's RuntimeClass; throws when there is no such class. */
  readonly runtimeHandler: (pod: Pod) => string;
  readonly prepareSandbox: (request: { pod: Pod; attempt: number }) => Promise<PreparedSandbox>;
  readonly prepareContainer: (request: PrepareRequest) => Promise<ContainerConfig>;
}

/** Where the steps of one pod say how they went, for its status. */
interface StepReports {
  sandboxProblem(problem: StartProblem | undefined): void;
  containerProblem(name: string, problem: StartProblem | undefined): void;
  /** A container has a postStart hook that has yet to end: until then it is not ready, though it runs. */
  hookBegins(containerId: string): Promise<void>;
  hookEnded(containerId: string): Promise<void>;
  /** Something changed in the runtime, this part alone where it is given: the status need not wait for the rest. */
  acted(part?: PodPart): Promise<void>;
}

export interface RunOptions {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly actions: readonly PodAction[];
  readonly reports: StepReports;
  /** The pod's volumes, made where they are not there yet; see PodVolumes.setUp. */
  readonly mountVolumes: (signal: AbortSignal, onGathered?: () => void) => Promise<MountedVolumes>;
  readonly signal: AbortSignal;
}

/**
 * Carries a plan out, one action after the other. A container that cannot be started does not keep the next one from
 * being tried; a sandbox that cannot be made ends the plan. False when something failed and is to be tried again.
 */
export async function runPodActions(deps: PodActionDeps, options: RunOptions): Promise<boolean> {
  const { pod, actions, signal, reports } = options;
  let succeeded = true;
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
        await reports.acted();
        break;
      case "stopSandbox":
        await deps.cri.runtime.stopPodSandbox({ podSandboxId: action.sandbox.id }, { signal });
        await reports.acted();
        break;
      case "createSandbox":
        if (!(await createSandbox(deps, { ...options, attempt: action.attempt }))) return false;
        break;
      case "startContainer": {
        const volumes = await mountOrTell(deps, options);
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

/** Undefined when they cannot be made; the pod's status and events say why. */
async function mountOrTell(
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
  // What may be missing has to be there before anything is made; mounting it goes on beside the sandbox.
  let proceed = () => {};
  const gathered = new Promise<true>((resolve) => {
    proceed = () => resolve(true);
  });
  const mounting = mountOrTell(deps, options, proceed);
  if (!(await Promise.race([gathered, mounting]))) return false;
  const [made, mounted] = await Promise.allSettled([runSandbox(deps, options), mounting]);
  if (made.status === "rejected") throw made.reason;
  if (mounted.status === "rejected") throw mounted.reason;
  if (made.value === undefined) return false;
  if (mounted.value) reports.sandboxProblem(undefined);
  await reports.acted({ sandboxId: made.value });
  return mounted.value !== undefined;
}

/** The new sandbox's id; undefined when it cannot be made: the pod's status and events say why. */
async function runSandbox(
  deps: PodActionDeps,
  { pod, attempt, reports, signal }: RunOptions & { attempt: number },
): Promise<string | undefined> {
  try {
    const runtimeHandler = deps.runtimeHandler(pod);
    const { config, warnings } = await deps.prepareSandbox({ pod, attempt });
    const request = { config, runtimeHandler };
    const made = await deps.cri.runtime.runPodSandbox(request, { signal, timeoutMs: 240_000 });
    // What a pod has to do without, a name server of the cluster say, is said once, and not with every try.
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
  const containerId = await orReport(deps, { ...options, container }, () => makeAndStart(deps, options));
  if (containerId === undefined) return false;
  // It runs already: probes and the status do not wait for the hook.
  await reports.acted({ sandboxId: sandbox.id, containerId });
  return finishStart(deps, { ...options, container, sandbox, containerId });
}

/** What is left to be done for a container that runs. */
async function finishStart(deps: PodActionDeps, options: HookOptions): Promise<boolean> {
  if (!(await orReport(deps, options, () => runPostStart(deps, options)))) return false;
  options.reports.containerProblem(options.container.name, undefined);
  return true;
}

/** Undefined when it failed; the pod's status and events say why. */
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
    // The puller has said on the pod what there is to say about its own failures.
    if (!(error instanceof StartError && error.recorded)) {
      recordFor(deps.recorder, pod, name)("Warning", "Failed", `Error: ${criErrorText(error)}`);
    }
    return undefined;
  }
}

/** The new container's id. */
async function makeAndStart(deps: PodActionDeps, options: StartOptions): Promise<string> {
  const { pod, action, volumes, signal } = options;
  const { container, attempt, sandbox } = action;
  const record = recordFor(deps.recorder, pod, container.name);
  const runtimeHandler = deps.runtimeHandler(pod);
  const imageRef = await deps.images.ensureImage({ pod, container, runtimeHandler, signal });
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
  const { containerId } = await failingAs("CreateContainerError", () =>
    deps.cri.runtime.createContainer({ podSandboxId: sandbox.id, config, sandboxConfig }, { signal }),
  );
  record("Normal", "Created", "Container created");
  if (container.lifecycle?.postStart) await options.reports.hookBegins(containerId);
  await failingAs("RunContainerError", () => deps.cri.runtime.startContainer({ containerId }, { signal }));
  record("Normal", "Started", "Container started");
  return containerId;
}

type HookOptions = ContainerOptions & { readonly containerId: string };

/** True once there is no hook, or it has succeeded. */
async function runPostStart(deps: PodActionDeps, options: HookOptions): Promise<true> {
  const { pod, container, sandbox, containerId, reports, signal } = options;
  const postStart = container.lifecycle?.postStart;
  if (!postStart) return true;
  const podIp = sandbox.ips[0];
  try {
    await runLifecycleHook(deps, postStart, { pod, container, containerId, podIp, signal });
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

/** A container whose postStart hook failed is not what was asked for: it goes, and is restarted by its policy. */
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
