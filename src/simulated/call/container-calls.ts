import {
  type ContainerConfig,
  ContainerEventType,
  type ContainerFilter,
  LinuxContainerResources,
  type RuntimeServiceService,
} from "../../cri/generated/cri.ts";
import { matchesLabels } from "../../cri/matches-labels.ts";
import { newObjectId } from "../../cri/object-id.ts";
import type { ServiceCalls } from "../../cri/serve-call.ts";
import { decideExit, decideStop, endContainer, forgetPlans, planExit, untilEnded } from "../container-end.ts";
import type { SimulatedCore } from "../core.ts";
import { alreadyExists, failedPrecondition, invalidArgument, notFound, unknownFailure } from "../failure.ts";
import { presentImage } from "../image/present-image.ts";
import { containerMessage, containerStateValue, containerStatusMessage, logPathOf } from "../messages.ts";
import { pauseUntil } from "../pause.ts";
import { publishContainerEvent } from "../publish-event.ts";
import type { ContainerRecord, SandboxRecord } from "../records.ts";
import { containerScript } from "../scripts-for.ts";
import { findContainer, findOrMissing, findSandbox, removeFrom } from "../state.ts";
import { appendToLog } from "./append-to-log.ts";

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

    /** Stopping what is gone, or has ended, succeeds. */
    async stopContainer({ containerId, timeout }, { signal }) {
      const container = findOrMissing(state.containers, containerId);
      if (container?.state.kind !== "running") return {};
      const graceMs = 1_000 * Number(timeout);
      planExit(core, container, decideStop(containerScript(core, container), { now: clock.now(), graceMs }));
      await untilEnded(core, container, signal);
      return {};
    },

    /** A running container is killed; removing what is gone succeeds. */
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

    /** Kubelets rename a log that is full and call this. */
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
  forgetPlans(core, container.id);
  core.state.containers.delete(container.id);
  removeFrom(container.sandbox.containers, container);
  publishContainerEvent(core, container, ContainerEventType.CONTAINER_DELETED_EVENT);
}

function newContainer(
  core: SimulatedCore,
  sandbox: SandboxRecord,
  config: ContainerConfig | undefined,
): ContainerRecord {
  const { sharing } = core;
  if (!config) throw invalidArgument("config is missing");
  const { metadata, image: spec } = config;
  if (!metadata?.name) throw invalidArgument("config.metadata.name is missing");
  if (!spec?.image) throw invalidArgument("config.image.image is missing");
  if (sandbox.state !== "ready") throw failedPrecondition(`sandbox ${sandbox.id} is not ready`);
  const image = presentImage(core, spec.image);
  if (!image) throw notFound("image", spec.image);
  const other = sandbox.containers.find(
    (one) => one.metadata.name === metadata.name && one.metadata.attempt === metadata.attempt,
  );
  if (other)
    throw alreadyExists(`container ${metadata.name}, attempt ${metadata.attempt}, exists: ${other.id}`);
  return {
    id: newObjectId(),
    sandbox,
    metadata: { ...metadata, name: sharing.text(metadata.name) },
    image: sharing.image(spec),
    imageId: image.id,
    imageRef: image.repoDigests[0] ?? image.id,
    labels: sharing.labels(config.labels),
    annotations: sharing.labels(config.annotations),
    mounts: sharing.mounts(config.mounts),
    logPath: sharing.text(config.logPath),
    stopSignal: config.stopSignal,
    createdAt: core.clock.now(),
    resources: sharing.resources(config.linux?.resources),
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

/** What runtimes report for a process that could not be started. */
const startFailedCode = 128;

async function start(core: SimulatedCore, container: ContainerRecord, signal: AbortSignal): Promise<void> {
  const { clock } = core;
  const script = containerScript(core, container);
  await pauseUntil(clock, clock.now() + (script.startDelayMs ?? 0), signal);
  const path = logPathOf(container);
  if (path && script.log) await appendToLog(path, script.log, clock.now());
  // It may have been removed, or its sandbox stopped, in the meantime.
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

/** What the request leaves at zero stays as it was. */
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
