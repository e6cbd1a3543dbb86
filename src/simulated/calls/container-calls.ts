import { appendFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { matchesLabels, newObjectId } from "../../cri/field-values.ts";
import {
  type ContainerConfig,
  ContainerEventType,
  type ContainerFilter,
  LinuxContainerResources,
  type RuntimeServiceService,
} from "../../cri/generated/cri.ts";
import { createCriLogLines } from "../../cri/log-lines.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import { sleepUntil } from "../../lib/timer-queue.ts";
import {
  cancelPlannedExit,
  decideExit,
  decideStop,
  endContainer,
  planExit,
  waitForExit,
} from "../model/container-end.ts";
import { containerScript, type SimulatedCore } from "../model/core.ts";
import {
  alreadyExists,
  failedPrecondition,
  invalidArgument,
  notFound,
  unknownFailure,
} from "../model/failure.ts";
import {
  containerMessage,
  containerStateValue,
  containerStatusMessage,
  logPathOf,
  publishContainerEvent,
} from "../model/messages.ts";
import {
  type ContainerRecord,
  findContainer,
  findOrMissing,
  findSandbox,
  removeFrom,
  type SandboxRecord,
} from "../model/state.ts";
import { findPresentImage } from "./image-calls.ts";

export function containerCalls(core: SimulatedCore) {
  const { state, clock } = core;
  return {
    async createContainer({ podSandboxId, config }) {
      const sandbox = findSandbox(state, podSandboxId);
      const container = newContainer(core, sandbox, config);
      const { createError } = containerScript(core, container);
      if (createError) throw unknownFailure(createError);
      sandbox.containers.push(container);
      state.containers.set(container.id, container);
      publishContainerEvent(core, container, ContainerEventType.CONTAINER_CREATED_EVENT);
      return { containerId: container.id };
    },

    async startContainer({ containerId }, { signal }) {
      const container = findContainer(state, containerId);
      checkCanStart(core, container);
      core.starting.add(container.id);
      try {
        await start(core, container, signal);
      } finally {
        core.starting.delete(container.id);
      }
      return {};
    },

    /** Succeeds for a container that is missing or has exited. */
    async stopContainer({ containerId, timeout }, { signal }) {
      const container = findOrMissing(state.containers, containerId);
      if (container?.state.kind !== "running") return {};
      const graceMs = 1_000 * Number(timeout);
      planExit(core, container, decideStop(containerScript(core, container), { now: clock.now(), graceMs }));
      await waitForExit(core, container, signal);
      return {};
    },

    /** Kills a running container. Succeeds for a missing one. */
    async removeContainer({ containerId }) {
      const container = findOrMissing(state.containers, containerId);
      if (container) discardContainer(core, container);
      return {};
    },

    async listContainers({ filter }) {
      const all = [...state.containers.values()];
      const chosen = filter ? all.filter((container) => matches(container, filter)) : all;
      return { containers: chosen.map(containerMessage) };
    },

    async containerStatus({ containerId, verbose }) {
      const container = findContainer(state, containerId);
      const info = { info: JSON.stringify({ sandboxID: container.sandbox.id, pid: 0 }) };
      return { status: containerStatusMessage(container), info: verbose ? info : {} };
    },

    async updateContainerResources({ containerId, linux }) {
      const container = findContainer(state, containerId);
      if (!linux) throw invalidArgument("linux is missing");
      if (container.state.kind === "exited") throw failedPrecondition(`container ${container.id} is exited`);
      container.resources = mergeResources(container.resources, linux);
      return {};
    },

    /** Called by kubelets after rotating a log. */
    async reopenContainerLog({ containerId }) {
      const container = findContainer(state, containerId);
      checkRuns(container);
      const path = logPathOf(container);
      if (path && containerScript(core, container).log) await appendToLog(path, "", clock.now());
      return {};
    },
  } satisfies ServiceCalls<RuntimeServiceService>;
}

export function checkRuns({ id, state }: ContainerRecord): void {
  if (state.kind !== "running") throw failedPrecondition(`container ${id} does not run: it is ${state.kind}`);
}

export function discardContainer(core: SimulatedCore, container: ContainerRecord): void {
  cancelPlannedExit(core, container.id);
  core.state.containers.delete(container.id);
  removeFrom(container.sandbox.containers, container);
  publishContainerEvent(core, container, ContainerEventType.CONTAINER_DELETED_EVENT);
}

function newContainer(
  core: SimulatedCore,
  sandbox: SandboxRecord,
  config: ContainerConfig | undefined,
): ContainerRecord {
  const { dedupe } = core;
  if (!config) throw invalidArgument("config is missing");
  const { metadata, image: spec } = config;
  if (!metadata?.name) throw invalidArgument("config.metadata.name is missing");
  if (!spec?.image) throw invalidArgument("config.image.image is missing");
  if (sandbox.state !== "ready") throw failedPrecondition(`sandbox ${sandbox.id} is not ready`);
  const image = findPresentImage(core, spec.image);
  if (!image) throw notFound("image", spec.image);
  const other = sandbox.containers.find(
    (one) => one.metadata.name === metadata.name && one.metadata.attempt === metadata.attempt,
  );
  if (other)
    throw alreadyExists(`container ${metadata.name}, attempt ${metadata.attempt}, exists: ${other.id}`);
  return {
    id: newObjectId(),
    sandbox,
    metadata: { ...metadata, name: dedupe.text(metadata.name) },
    image: dedupe.image(spec),
    imageId: image.id,
    imageRef: image.repoDigests[0] ?? image.id,
    labels: dedupe.labels(config.labels),
    annotations: dedupe.labels(config.annotations),
    mounts: dedupe.mounts(config.mounts),
    logPath: dedupe.text(config.logPath),
    stopSignal: config.stopSignal,
    createdAt: core.clock.now(),
    resources: dedupe.resources(config.linux?.resources),
    state: { kind: "created" },
  };
}

function checkCanStart(core: SimulatedCore, { id, state, sandbox }: ContainerRecord): void {
  if (!core.state.containers.has(id)) throw notFound("container", id);
  if (state.kind !== "created" || core.starting.has(id))
    throw failedPrecondition(
      `container ${id} is ${core.starting.has(id) ? "being started" : state.kind}: only a created one can be started`,
    );
  if (sandbox.state !== "ready") throw failedPrecondition(`sandbox ${sandbox.id} is not ready`);
}

/** Exit code that runtimes report when the process could not be started. */
const startFailedCode = 128;

async function start(core: SimulatedCore, container: ContainerRecord, signal: AbortSignal): Promise<void> {
  const { clock } = core;
  const script = containerScript(core, container);
  await sleepUntil(clock, clock.now() + (script.startDelayMs ?? 0), signal);
  const path = logPathOf(container);
  if (path && script.log) await appendToLog(path, script.log, clock.now());
  // The container may have been removed, or its sandbox stopped, in the meantime.
  core.starting.delete(container.id);
  checkCanStart(core, container);
  if (script.startError) {
    endContainer(core, container, {
      exitCode: startFailedCode,
      reason: "StartError",
      message: script.startError,
    });
    throw unknownFailure(script.startError);
  }
  const startedAt = clock.now();
  container.state = { kind: "running", startedAt };
  publishContainerEvent(core, container, ContainerEventType.CONTAINER_STARTED_EVENT);
  const exit = decideExit(script.exit, { attempt: container.metadata.attempt, startedAt });
  if (exit) planExit(core, container, exit);
}

/** Fields that are zero in the update keep their values. */
function mergeResources(
  before: LinuxContainerResources | undefined,
  update: LinuxContainerResources,
): LinuxContainerResources {
  const { hugepageLimits, unified, ...amounts } = update;
  const given = Object.entries(amounts).filter(([, value]) => Boolean(value));
  return LinuxContainerResources.fromPartial({
    ...before,
    ...Object.fromEntries(given),
    hugepageLimits: hugepageLimits.length > 0 ? hugepageLimits : before?.hugepageLimits,
    unified: { ...before?.unified, ...unified },
  });
}

function matches(container: ContainerRecord, filter: ContainerFilter): boolean {
  return (
    container.id.startsWith(filter.id) &&
    container.sandbox.id.startsWith(filter.podSandboxId) &&
    (!filter.state || filter.state.state === containerStateValue(container)) &&
    matchesLabels(container.labels, filter.labelSelector)
  );
}

/** Appends lines to a CRI log, all with the current time. Empty text creates the file. */
async function appendToLog(path: string, text: string, now: number): Promise<void> {
  // Nanosecond precision, as kubelets expect.
  const time = new Date(now).toISOString().replace("Z", "000000Z");
  const lines = createCriLogLines("stdout");
  const bytes = [lines.push(Buffer.from(text), time), lines.end(time)];
  await mkdir(dirname(path), { recursive: true });
  await appendFile(path, Buffer.concat(bytes), { mode: 0o640 });
}
