import { conditionOf } from "../../api/meta/object-facts.ts";
import type { Node, NodeStatus } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder, EventToRecord } from "../../client/events/event-recorder.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Image } from "../../cri/generated/cri.ts";
import { type BackoffPolicy, type BackoffState, backOff, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import {
  buildNode,
  buildNodeStatus,
  hasNodeChanged,
  heartbeatPatch,
  type NodeOptions,
  type NodeStatusFacts,
  registrationPatch,
} from "./build-node.ts";
import type { PullProgressSupport } from "./node-conditions.ts";
import { type Machine, type RuntimeState, readImages, readRuntime } from "./read-machine.ts";

export interface NodeStatusUpdaterOptions {
  readonly client: Pick<Client, "create" | "get" | "patch">;
  readonly cri: {
    readonly runtime: Pick<CriClient["runtime"], "version" | "status">;
    readonly images: Pick<CriClient["images"], "listImages">;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly node: NodeOptions;
  readonly readMachine: () => Promise<Machine>;
  readonly shuttingDown?: () => boolean;
  /** Defaults to unknown. */
  readonly pullProgress?: () => PullProgressSupport;
  /** False if another component creates the node. */
  readonly register?: boolean;
  readonly updateFrequencyMs?: number;
  readonly reportFrequencyMs?: number;
}

/** Registers the node and updates its status: changes when they are observed, and periodic heartbeats. */
export interface NodeStatusUpdater {
  /** Last known node. Undefined until it is registered. */
  node(): Node | undefined;
  /** Resolves when the node is registered. */
  readonly registered: Promise<Node>;
  /** Reads the node from the API now. */
  refresh(signal: AbortSignal): Promise<void>;
  /** Updates the status immediately, after a change that it shows. */
  updateSoon(): void;
  run(signal: AbortSignal): Promise<void>;
}

const registrationPolicy: BackoffPolicy = { initialMs: 100, maxMs: 7_000, factor: 2, resetAfterMs: 60_000 };
/** Update interval while the node is not ready, which is usually because the runtime is starting. */
const notReadyFrequencyMs = 200;
const failurePolicy: BackoffPolicy = { initialMs: 1_000, maxMs: 10_000, factor: 2, resetAfterMs: 60_000 };

export function createNodeStatusUpdater(options: NodeStatusUpdaterOptions): NodeStatusUpdater {
  const { client, cri, clock, logger, recorder, node: nodeOptions, register = true } = options;
  const { updateFrequencyMs = 10_000, reportFrequencyMs = 300_000 } = options;
  const wakeUp = createWakeUp();
  let known: Node | undefined;
  let runtime: RuntimeState | undefined;
  let images: readonly Image[] | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let announce: (node: Node) => void = () => {};
  const registered = new Promise<Node>((resolve) => {
    announce = resolve;
  });

  async function readFacts(signal: AbortSignal): Promise<Omit<NodeStatusFacts, "previous" | "images">> {
    const [machine, answer] = await Promise.all([
      options.readMachine(),
      readRuntime(cri.runtime, { clock, signal }).catch(noteSilence),
    ]);
    runtime = answer ?? runtime;
    const shuttingDown = options.shuttingDown?.() ?? false;
    const pullProgress = options.pullProgress?.() ?? "unknown";
    return { options: nodeOptions, machine, runtime, shuttingDown, pullProgress, now: clock.now() };
  }

  function noteSilence(error: unknown): undefined {
    logger.debug("the runtime does not respond", { error });
  }

  async function registerOnce(signal: AbortSignal): Promise<void> {
    const facts = await readFacts(signal);
    const { node, before } = register
      ? await registerNode(client, (had) => buildNode({ ...facts, images, previous: had?.status }), signal)
      : { node: await client.get("nodes", { name: nodeOptions.name }, { signal }), before: undefined };
    known = node;
    askedAt = clock.now();
    if (register) reportedAt = askedAt;
    announce(node);
    logger.info(before ? "node is already registered" : "node registered", { node: nodeOptions.name });
    const rebooted = rebootEvent(nodeOptions.name, facts.machine.bootId, (before ?? node).status);
    if (rebooted) recorder.record(node, rebooted);
    if (before) recordReadiness(before, node);
  }

  /** Returns the node. It is read periodically, because other components write it too. */
  async function currentNode(signal: AbortSignal): Promise<Node> {
    if (known && clock.now() - askedAt < updateFrequencyMs) return known;
    const node = await client.get("nodes", { name: nodeOptions.name }, { signal });
    askedAt = clock.now();
    return node;
  }

  async function update(signal: AbortSignal): Promise<void> {
    const [facts, listed] = await Promise.all([
      readFacts(signal),
      isReady() ? readImages(cri.images, signal).catch(() => images) : images,
    ]);
    images = listed;
    const before = await currentNode(signal);
    const status = buildNodeStatus({ ...facts, images, previous: before.status });
    const has = before.status ?? {};
    const isDue = clock.now() - reportedAt >= reportFrequencyMs;
    if (!isDue && !hasNodeChanged(status, has)) {
      known = before;
      return;
    }
    known = await client.patch(
      "nodes",
      { name: nodeOptions.name },
      {
        subresource: "status",
        patch: { kind: "strategic", body: { status: heartbeatPatch(status, has) } },
        signal,
      },
    );
    reportedAt = clock.now();
    recordReadiness(before, known);
  }

  function isReady(): boolean {
    return known !== undefined && readiness(known) === "True";
  }

  function recordReadiness(before: Node, after: Node): void {
    const [was, is] = [readiness(before), readiness(after)];
    if (was === undefined || was === is) return;
    const reason = is === "True" ? "NodeReady" : "NodeNotReady";
    const message = `Node ${nodeOptions.name} status is now: ${reason}`;
    recorder.record(after, { type: "Normal", reason, message });
  }

  async function keepUpdated(signal: AbortSignal): Promise<void> {
    let failure: BackoffState | undefined;
    while (!signal.aborted) {
      const woken = wakeUp.next();
      const waitMs = isReady() ? updateFrequencyMs : notReadyFrequencyMs;
      await woken.orAt(clock.now() + (failure?.delayMs ?? waitMs), { clock, signal });
      try {
        await update(signal);
        failure = undefined;
      } catch (error) {
        signal.throwIfAborted();
        failure = backOff(failurePolicy, failure, clock.now());
        logger.warn("failed to update the node status, retrying", { node: nodeOptions.name, error });
      }
    }
  }

  return {
    node: () => known,
    registered,
    async refresh(signal) {
      known = await client.get("nodes", { name: nodeOptions.name }, { signal });
      askedAt = clock.now();
    },
    updateSoon: wakeUp.wake,
    async run(signal) {
      try {
        await retry(() => registerOnce(signal), {
          policy: registrationPolicy,
          clock,
          signal,
          onFailure: (error) => logger.warn("failed to register the node, retrying", { error }),
        });
        await keepUpdated(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}

function readiness(node: Node): string | undefined {
  return conditionOf(node, "Ready")?.status;
}

interface Registration {
  readonly node: Node;
  /** Previous node. Undefined if it was not registered before. */
  readonly before: Node | undefined;
}

/** Creates the node or updates the existing one: one request for a new node, up to three otherwise. */
async function registerNode(
  client: Pick<Client, "create" | "get" | "patch">,
  /** Builds the desired node from the one in the API. */
  build: (before: Node | undefined) => Node,
  signal: AbortSignal,
): Promise<Registration> {
  const node = build(undefined);
  try {
    return { node: await client.create("nodes", node, { signal }), before: undefined };
  } catch (error) {
    if (!(error instanceof StatusError) || !mayExist(error)) throw error;
  }
  const key = { name: node.metadata.name ?? "" };
  const before = await client.get("nodes", key, { signal });
  const body = registrationPatch(build(before), before);
  if (!body) return { node: before, before };
  const patch = { kind: "strategic", body } as const;
  // The status subresource also accepts labels and annotations, so one write is sufficient.
  return { node: await client.patch("nodes", key, { subresource: "status", patch, signal }), before };
}

/** Returns whether the node may exist: a kubelet without permission to create nodes may still use one. */
function mayExist({ reason }: StatusError): boolean {
  return reason === "AlreadyExists" || reason === "Forbidden";
}

/** Returns the event to record if the machine was rebooted since the last status. */
export function rebootEvent(
  nodeName: string,
  bootId: string,
  reported: NodeStatus | undefined,
): EventToRecord | undefined {
  const before = reported?.nodeInfo?.bootID;
  if (!before || !bootId || before === bootId) return undefined;
  return {
    type: "Warning",
    reason: "Rebooted",
    message: `Node ${nodeName} has been rebooted, boot id: ${bootId}`,
  };
}
