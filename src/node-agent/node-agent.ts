// Clauses: 3542-14
import { status } from "@grpc/grpc-js";
import type { Client } from "../client/api/client.ts";
import { createEventRecorder } from "../client/events/event-recorder.ts";
import { createInformer } from "../client/informers/informer.ts";
import type { ContentStore } from "../cri/cri-client.ts";
import type { ReportGranularity } from "../cri/progress-message.ts";
import type { Clock } from "../lib/clock.ts";
import { isGrpcError } from "../lib/grpc-call.ts";
import type { Logger } from "../lib/logger.ts";
import { createMetrics } from "../lib/metrics/metrics.ts";
import { createContentProgress } from "./containerd/content-progress.ts";
import { timeoutOnContainerd } from "./containerd/track-pulls.ts";
import { followPods } from "./pods/follow-pods.ts";
import { publishPull } from "./pods/publish-pull.ts";
import { createPullEventRateLimit } from "./publish/pull-event-rate-limit.ts";
import { createPullMetrics } from "./publish/pull-metrics.ts";
import { createPullTracker } from "./publish/pull-tracker.ts";
import { type AgentServing, startAgentServer } from "./server/agent-server.ts";

/** Name of the agent in events and requests. */
export const component = "kindling-node-agent";

export interface NodeAgentOptions {
  readonly client: Client;
  /** Content store of the containerd that the node's kubelet uses. */
  readonly store: ContentStore;
  readonly nodeName: string;
  /** Interval of progress events. */
  readonly every: ReportGranularity;
  /** Seconds without data after which a pull is reported as stalled; at least 60. 0 disables it. */
  readonly noProgressTimeoutSeconds: number;
  readonly serving: AgentServing;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Running agent. */
export interface NodeAgent {
  readonly port: number;
  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Creates the agent, which reports the progress of image pulls by containerd beside any kubelet. It only reads: pods and
 * their events from the API server, and the content store of containerd. It writes events.
 */
export async function createNodeAgent(options: NodeAgentOptions): Promise<NodeAgent> {
  const { client, store, nodeName, every, clock, logger } = options;
  await checkStore(store);
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const pods = createInformer({ client, resource: "pods", fieldSelector, clock, logger });
  const recorder = createEventRecorder({ client, component, host: nodeName, clock, logger });
  const metrics = createMetrics();
  const tracker = createPullTracker();
  const publish = publishPull.bind(undefined, {
    content: createContentProgress({ store, clock, logger }),
    tracker,
    metrics: createPullMetrics({ metrics, clock }),
    recorder,
    every,
    allowEvent: createPullEventRateLimit({ nodeName, eventWriteMs: recorder.writeMs, clock }),
    timeoutMs: timeoutOnContainerd(options.noProgressTimeoutSeconds),
    clock,
  });
  const server = await startAgentServer({
    ...options.serving,
    nodeName,
    client,
    pods: { find: (namespace, name) => pods.get(`${namespace}/${name}`) },
    progress: { progress: tracker.progress, followProgress: tracker.follow },
    metrics,
    clock,
    logger,
  });
  return {
    port: server.port,
    async run(signal) {
      try {
        const running = [pods.run(signal), recorder.run(signal)];
        await Promise.race([pods.synced, ...running]);
        await followPods({ client, pods, component, publish, clock, logger }, signal);
        await Promise.all(running);
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        await server.close();
      }
    },
  };
}

/** Fails early if the socket is not containerd's. Without containerd the agent waits for it. */
async function checkStore(store: ContentStore): Promise<void> {
  try {
    await store.statuses(AbortSignal.timeout(5_000));
  } catch (error) {
    if (isGrpcError(error, status.UNIMPLEMENTED))
      throw new Error(
        "the socket does not serve containerd's content store; --containerd-socket must be the socket of containerd",
        { cause: error },
      );
  }
}
