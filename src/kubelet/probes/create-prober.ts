// Clauses: 950-6, 950-8
import type { Features } from "../../api/meta/feature-gates.ts";
import type { Container, Pod } from "../../api/meta/objects.ts";
import type { StartupBudget } from "../../api/pod/startup-budget.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createTimerQueue } from "../../lib/timer-queue.ts";
import { runtimeContainerId } from "../model/cri-labels.ts";
import { type ObservedContainer, type ObservedPod, orderIps, type Prober } from "../model/observed-pod.ts";
import type { StartupCheckpoints } from "../model/startup-checkpoints.ts";
import type { ProbedContainer } from "./decide-probe.ts";
import type { ProbeHandler } from "./handler/probe-handler.ts";
import { type ContainerProbes, probeContainer } from "./probe-container.ts";
import type { ProbeMetrics } from "./probe-metrics.ts";
import {
  adviseStartupProbe,
  createStartTimes,
  type StartupProbeAdvice,
  withoutSmallerBudget,
} from "./startup-advice.ts";

export interface ProberOptions {
  readonly handlers: ProbeHandler;
  readonly recorder: EventRecorder;
  readonly checkpoints: Pick<StartupCheckpoints, "startupFailures" | "startupFailed" | "startupEnded">;
  readonly clock: Clock;
  readonly features: Features;
  readonly kubeletStartedAtMs: number;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  readonly metrics: ProbeMetrics;
  readonly logger: Logger;
  /** Address of the node: used for pods in the host network, and its IP family is preferred for dual-stack pods. */
  readonly hostIp?: () => string | undefined;
}

export interface NodeProber extends Prober {
  /** Startup budget of a container. Undefined if it has started or has no startup probe. */
  startupBudget(containerId: string): StartupBudget | undefined;
  /** Proposed startup probe, from observed starts of this container in pods of the same workload. Undefined if there are too few. */
  startupAdvice(pod: Pod, container: Container): StartupProbeAdvice | undefined;
  /** Stops all probes. */
  close(): void;
}

/** Probes that are due within this time share a wake-up. */
const wakeGapMs = 10;

interface PodProbes {
  readonly containers: Map<string, ContainerProbes>;
  stopping: boolean;
}

export function createProber(options: ProberOptions): NodeProber {
  const { clock, features, logger, metrics } = options;
  const timers = createTimerQueue({ clock, gapMs: wakeGapMs });
  const pods = new Map<string, PodProbes>();
  const byContainerId = new Map<string, ContainerProbes>();
  const handlers: ((podUid: string) => void)[] = [];
  const startTimes = createStartTimes();
  const deps = {
    ...options,
    timers,
    startTimes,
    onChange(podUid: string) {
      for (const handler of handlers) handler(podUid);
    },
  };

  function probesOf(podUid: string): PodProbes {
    const podProbes = pods.get(podUid) ?? { containers: new Map(), stopping: false };
    pods.set(podUid, podProbes);
    return podProbes;
  }

  function start(
    { pod, ip, stopping }: { pod: Pod; ip: string | undefined; stopping: boolean },
    container: ObservedContainer,
  ): ContainerProbes | undefined {
    const subject = findContainer(pod, container.name);
    if (!subject || container.state.kind !== "running") return undefined;
    const running = {
      ...subject,
      id: container.id,
      startedAtMs: container.state.startedAtMs,
      known: readKnown(pod, container.id),
    };
    return probeContainer(deps, running, {
      pod,
      ip,
      stopping,
      startupProbes: features.StartupProbeEnabled,
    });
  }

  function end(podProbes: PodProbes, containerId: string): void {
    podProbes.containers.get(containerId)?.end();
    podProbes.containers.delete(containerId);
    byContainerId.delete(containerId);
  }

  function stop(podProbes: PodProbes): void {
    if (podProbes.stopping) return;
    podProbes.stopping = true;
    for (const probes of podProbes.containers.values()) probes.stop();
  }

  function forget(podUid: string): void {
    const podProbes = pods.get(podUid);
    if (!podProbes) return;
    for (const id of podProbes.containers.keys()) end(podProbes, id);
    pods.delete(podUid);
    metrics.forget(podUid);
  }

  return {
    observe(pod, observed) {
      const podProbes = probesOf(observed.uid);
      if (pod.metadata.deletionTimestamp) stop(podProbes);
      const running = observed.containers.filter(({ state }) => state.kind === "running");
      const ids = new Set(running.map(({ id }) => id));
      for (const [id, probes] of podProbes.containers) {
        if (ids.has(id)) continue;
        probes.exited();
        end(podProbes, id);
      }

      for (const container of running) {
        const ip = findIp(pod, observed, { container, hostIp: options.hostIp?.() });
        const known = podProbes.containers.get(container.id);
        if (known) {
          known.update({ pod, ip });
          continue;
        }
        const probes = start({ pod, ip, stopping: podProbes.stopping }, container);
        if (!probes) continue;
        podProbes.containers.set(container.id, probes);
        byContainerId.set(container.id, probes);
        if (logger.debugging) logger.debug("probes started", { container: container.id });
      }
    },
    stopping: (podUid) => stop(probesOf(podUid)),
    forget,
    // Before the first observation after a restart of the kubelet, the last status in the API is used.
    probeResult: (pod, containerId) =>
      byContainerId.get(containerId)?.probeResult() ?? readKnown(pod, containerId),
    onChange: (handler) => void handlers.push(handler),
    startupBudget: (containerId) => byContainerId.get(containerId)?.startupBudget(),
    startupAdvice: (pod, container) =>
      withoutSmallerBudget(adviseStartupProbe(startTimes.of(pod, container)), {
        container,
        started: hasStarted(pod, container),
      }),
    close() {
      for (const uid of pods.keys()) forget(uid);
      timers.close();
    },
  };
}

function findContainer({ spec }: Pod, name: string): ProbedContainer | undefined {
  const main = spec?.containers.find((container) => container.name === name);
  if (main) return { container: main, role: "main" };
  const init = spec?.initContainers?.find((container) => container.name === name);
  return init && { container: init, role: init.restartPolicy === "Always" ? "sidecar" : "init" };
}

/** Returns the status in the API of the container with this ID. Statuses of earlier containers of that name are ignored. */
function readKnown({ status }: Pod, containerId: string): { started: boolean; ready: boolean } {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const found = statuses.find(({ containerID = "" }) => runtimeContainerId(containerID) === containerId);
  const ready = found?.ready ?? false;
  // A ready container has started.
  return { started: ready || (found?.started ?? false), ready };
}

function hasStarted({ status }: Pod, { name }: Container): boolean {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return statuses.some((each) => each.name === name && each.started === true);
}

function findIp(
  { status }: Pod,
  { sandboxes }: ObservedPod,
  { container, hostIp }: { container: ObservedContainer; hostIp: string | undefined },
): string | undefined {
  const sandbox = sandboxes.find(({ id }) => id === container.sandboxId);
  return orderIps(sandbox?.ips ?? [], hostIp)[0] ?? status?.podIP ?? status?.hostIP ?? hostIp;
}
