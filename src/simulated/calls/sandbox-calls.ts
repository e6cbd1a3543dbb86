import { matchesLabels, newObjectId, toNanos } from "../../cri/field-values.ts";
import {
  ContainerEventType,
  NamespaceMode,
  type PodSandboxFilter,
  type PodSandboxMetadata,
  type RunPodSandboxRequest,
  type RuntimeServiceService,
} from "../../cri/generated/cri.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import { sleepUntil } from "../../lib/timer-queue.ts";
import { endContainer } from "../model/container-end.ts";
import { annotatedScripts, type SimulatedCore, sandboxScript } from "../model/core.ts";
import { alreadyExists, invalidArgument, unknownFailure } from "../model/failure.ts";
import {
  containerStatusMessage,
  publishSandboxEvent,
  sandboxMessage,
  sandboxStateValue,
  sandboxStatusMessage,
} from "../model/messages.ts";
import {
  addToPod,
  findOrMissing,
  findSandbox,
  killed,
  removeFromPod,
  type SandboxRecord,
} from "../model/state.ts";
import { discardContainer } from "./container-calls.ts";

export function sandboxCalls(core: SimulatedCore) {
  const { state } = core;
  return {
    async runPodSandbox(request, { signal }) {
      const sandbox = newSandbox(core, request);
      addToPod(state, sandbox);
      try {
        await createSandbox(core, sandbox, signal);
      } catch (error) {
        removeFromPod(state, sandbox);
        throw error;
      }
      sandbox.state = "ready";
      state.sandboxes.set(sandbox.id, sandbox);
      publishSandboxEvent(core, sandbox, ContainerEventType.CONTAINER_CREATED_EVENT);
      publishSandboxEvent(core, sandbox, ContainerEventType.CONTAINER_STARTED_EVENT);
      return { podSandboxId: sandbox.id };
    },

    async stopPodSandbox({ podSandboxId }, { signal }) {
      const sandbox = findOrMissing(state.sandboxes, podSandboxId);
      if (sandbox) await stopSandbox(core, sandbox, signal);
      return {};
    },

    async removePodSandbox({ podSandboxId }, { signal }) {
      const sandbox = findOrMissing(state.sandboxes, podSandboxId);
      if (!sandbox) return {};
      await stopSandbox(core, sandbox, signal);
      // Another call may have removed it while its network was torn down.
      if (!state.sandboxes.has(sandbox.id)) return {};
      for (const container of [...sandbox.containers]) discardContainer(core, container);
      publishSandboxEvent(core, sandbox, ContainerEventType.CONTAINER_DELETED_EVENT);
      state.sandboxes.delete(sandbox.id);
      removeFromPod(state, sandbox);
      return {};
    },

    async podSandboxStatus({ podSandboxId }) {
      const sandbox = findSandbox(state, podSandboxId);
      return {
        status: sandboxStatusMessage(sandbox),
        info: {},
        containersStatuses: sandbox.containers.map(containerStatusMessage),
        timestamp: toNanos(core.clock.now()),
      };
    },

    async listPodSandbox({ filter }) {
      const all = [...state.sandboxes.values()];
      const chosen = filter ? all.filter((sandbox) => matches(sandbox, filter)) : all;
      return { items: chosen.map(sandboxMessage) };
    },
  } satisfies ServiceCalls<RuntimeServiceService>;
}

function newSandbox(
  { state, clock, handlers, dedupe }: SimulatedCore,
  { config, runtimeHandler }: RunPodSandboxRequest,
): SandboxRecord {
  if (!config) throw invalidArgument("config is missing");
  const { metadata } = config;
  if (!metadata?.name) throw invalidArgument("config.metadata.name is missing");
  const other = state.byPod.get(metadata.uid)?.find((sandbox) => hasSameName(sandbox.metadata, metadata));
  if (other)
    throw alreadyExists(`a sandbox of pod ${metadata.namespace}/${metadata.name} exists: ${other.id}`);
  if (!handlers.has(runtimeHandler))
    throw unknownFailure(`failed to get sandbox runtime: no runtime for "${runtimeHandler}" is configured`);
  return {
    id: newObjectId(),
    metadata: { ...metadata, namespace: dedupe.text(metadata.namespace), uid: dedupe.text(metadata.uid) },
    labels: dedupe.labels(config.labels),
    annotations: dedupe.labels(config.annotations),
    handler: dedupe.text(runtimeHandler),
    logDirectory: config.logDirectory,
    namespaces: dedupe.namespaces(config.linux?.securityContext?.namespaceOptions),
    createdAt: clock.now(),
    scripts: annotatedScripts(config),
    containers: [],
    address: "",
    state: "making",
  };
}

function hasSameName(a: PodSandboxMetadata, b: PodSandboxMetadata): boolean {
  return a.name === b.name && a.namespace === b.namespace && a.attempt === b.attempt;
}

async function createSandbox(
  core: SimulatedCore,
  sandbox: SandboxRecord,
  signal: AbortSignal,
): Promise<void> {
  const { state, clock } = core;
  const { id, metadata } = sandbox;
  const script = sandboxScript(core, sandbox);
  await sleepUntil(clock, clock.now() + (script.delayMs ?? 0), signal);
  const failed = state.failures.get(metadata.uid) ?? 0;
  if (failed < (script.errorTimes ?? Number.POSITIVE_INFINITY)) {
    const networkError =
      script.networkError && `failed to setup network for sandbox "${id}": ${script.networkError}`;
    const error = networkError || script.error;
    if (error) {
      // Only counted if the number of failures is limited.
      if (script.errorTimes !== undefined) state.failures.set(metadata.uid, failed + 1);
      throw unknownFailure(error);
    }
  }
  state.failures.delete(metadata.uid);
  if (sandbox.namespaces?.network === NamespaceMode.NODE) return;
  const address = state.addresses.take();
  if (!address)
    throw unknownFailure(`failed to setup network for sandbox "${id}": all addresses for pods are in use`);
  sandbox.address = address;
}

/** Kubelets retry until it succeeds: every step is idempotent. */
async function stopSandbox(core: SimulatedCore, sandbox: SandboxRecord, signal: AbortSignal): Promise<void> {
  const { clock } = core;
  endSandbox(core, sandbox);
  const { stopDelayMs = 0, stopError } = sandboxScript(core, sandbox);
  await sleepUntil(clock, clock.now() + stopDelayMs, signal);
  if (stopError) throw unknownFailure(`failed to destroy network for sandbox "${sandbox.id}": ${stopError}`);
  core.state.addresses.release(sandbox.address);
  sandbox.address = "";
}

/** Ends the processes of a sandbox; its network is torn down afterwards. */
export function endSandbox(core: SimulatedCore, sandbox: SandboxRecord): void {
  const wasReady = sandbox.state === "ready";
  // Set first, so that no container can be created or started in it any more.
  sandbox.state = "notReady";
  for (const container of sandbox.containers) endContainer(core, container, killed);
  if (wasReady) publishSandboxEvent(core, sandbox, ContainerEventType.CONTAINER_STOPPED_EVENT);
}

function matches(sandbox: SandboxRecord, filter: PodSandboxFilter): boolean {
  return (
    sandbox.id.startsWith(filter.id) &&
    (!filter.state || filter.state.state === sandboxStateValue(sandbox)) &&
    matchesLabels(sandbox.labels, filter.labelSelector)
  );
}
