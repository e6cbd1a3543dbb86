import { conditionOf } from "../../api/conditions.ts";
import type { Node } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import type { CriClient } from "../../cri/cri-client.ts";
import type { Image } from "../../cri/generated/cri.ts";
import { type BackoffPolicy, type BackoffState, backOff, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { buildNode, buildNodeStatus, type NodeFacts, type NodeOptions } from "./build-node.ts";
import { hasNodeChanged, heartbeatPatch } from "./node-patch.ts";
import { registerNode } from "./node-registration.ts";
import type { Machine } from "./read-machine.ts";
import { type RuntimeAnswer, readImages, readRuntime } from "./read-runtime.ts";
import { rebootEvent } from "./reboot-event.ts";

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
  /** False where somebody else makes the node. */
  readonly register?: boolean;
  readonly updateFrequencyMs?: number;
  readonly reportFrequencyMs?: number;
}

/** Registers the node and keeps its status: what changed as soon as it is seen, and a heartbeat now and then. */
export interface NodeStatusUpdater {
  /** As the API last had it; undefined until it is registered. */
  node(): Node | undefined;
  /** Resolves once it is registered. */
  readonly registered: Promise<Node>;
  /** Something has changed that the node's status shows: look now. */
  lookAgain(): void;
  run(signal: AbortSignal): Promise<void>;
}

const registrationPolicy: BackoffPolicy = { initialMs: 100, maxMs: 7_000, factor: 2, resetAfterMs: 60_000 };
/** A node that is not ready looks more often: what it waits for is most often a runtime that is just starting. */
const lookWhileNotReadyMs = 200;
const failurePolicy: BackoffPolicy = { initialMs: 1_000, maxMs: 10_000, factor: 2, resetAfterMs: 60_000 };

export function createNodeStatusUpdater(options: NodeStatusUpdaterOptions): NodeStatusUpdater {
  const { client, cri, clock, logger, recorder, node: nodeOptions, register = true } = options;
  const { updateFrequencyMs = 10_000, reportFrequencyMs = 300_000 } = options;
  const wakeUp = createWakeUp();
  let known: Node | undefined;
  let runtime: RuntimeAnswer | undefined;
  let images: readonly Image[] | undefined;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let announce: (node: Node) => void = () => {};
  const registered = new Promise<Node>((resolve) => {
    announce = resolve;
  });

  async function readFacts(signal: AbortSignal): Promise<Omit<NodeFacts, "previous" | "images">> {
    const [machine, answer] = await Promise.all([
      options.readMachine(),
      readRuntime(cri.runtime, { clock, signal }).catch(noteSilence),
    ]);
    runtime = answer ?? runtime;
    const shuttingDown = options.shuttingDown?.() ?? false;
    return { options: nodeOptions, machine, runtime, shuttingDown, now: clock.now() };
  }

  function noteSilence(error: unknown): undefined {
    logger.debug("the runtime does not answer", { error });
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
    logger.info(before ? "node was registered before" : "node registered", { node: nodeOptions.name });
    const rebooted = rebootEvent(nodeOptions.name, facts.machine.bootId, (before ?? node).status);
    if (rebooted) recorder.record(node, rebooted);
    if (before) recordReadiness(before, node);
  }

  /** Others write it too: it is asked for now and then. */
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
      const waitMs = isReady() ? updateFrequencyMs : lookWhileNotReadyMs;
      await woken.orAt(clock.now() + (failure?.delayMs ?? waitMs), { clock, signal });
      try {
        await update(signal);
        failure = undefined;
      } catch (error) {
        signal.throwIfAborted();
        failure = backOff(failurePolicy, failure, clock.now());
        logger.warn("node status not updated, trying again", { node: nodeOptions.name, error });
      }
    }
  }

  return {
    node: () => known,
    registered,
    lookAgain: wakeUp.wake,
    async run(signal) {
      try {
        await retry(() => registerOnce(signal), {
          policy: registrationPolicy,
          clock,
          signal,
          onFailure: (error) => logger.warn("node not registered, trying again", { error }),
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
