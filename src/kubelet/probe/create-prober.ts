import type { Features } from "../../api/feature-gates.ts";
import type { Container, Pod } from "../../api/objects.ts";
import type { StartupBudget } from "../../api/startup-budget.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { StartupNotes } from "../container/startup-notes.ts";
import type { ObservedContainer, ObservedPod } from "../observed-pod.ts";
import { runtimeContainerId } from "../server/container-id.ts";
import { orderIps } from "../status/pod-addresses.ts";
import { adviseStartupProbe, type StartupProbeAdvice } from "./advise-startup-probe.ts";
import { createAlarms } from "./alarms.ts";
import type { ProbedContainer } from "./decide-verdict.ts";
import type { ProbeHandler } from "./handler/probe-handler.ts";
import { type ContainerProbes, probeContainer } from "./probe-container.ts";
import type { ProbeMetrics } from "./probe-metrics.ts";
import type { Prober } from "./prober.ts";
import { createStartTimes } from "./start-times.ts";

export interface ProberOptions {
  readonly handlers: ProbeHandler;
  readonly recorder: EventRecorder;
  readonly notes: Pick<StartupNotes, "startupFailures" | "startupFailed" | "startupEnded">;
  readonly clock: Clock;
  readonly features: Features;
  readonly kubeletStartedAtMs: number;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly metrics: ProbeMetrics;
  readonly logger: Logger;
  /** The node's own address: pods on its network are reached there, and its family is the first of a pod with two. */
  readonly hostIp?: () => string | undefined;
}

export interface NodeProber extends Prober {
  /** How much of its time to start a container has used; none once it has started or where nothing probes that. */
  startupBudget(containerId: string): StartupBudget | undefined;
  /** A startup probe that fits how such containers were seen to start; none where too few were. */
  startupAdvice(namespace: string, container: Container): StartupProbeAdvice | undefined;
  /** Ends all probes. */
  close(): void;
}

/** Probes that are due within this time of each other share a wake-up. */
const wakeGapMs = 10;

interface PodProbes {
  readonly containers: Map<string, ContainerProbes>;
  stopping: boolean;
}

export function createProber(options: ProberOptions): NodeProber {
  const { clock, features, logger, metrics } = options;
  const alarms = createAlarms({ clock, gapMs: wakeGapMs });
  const pods = new Map<string, PodProbes>();
  const byContainerId = new Map<string, ContainerProbes>();
  const handlers: ((podUid: string) => void)[] = [];
  const startTimes = createStartTimes();
  const deps = {
    ...options,
    alarms,
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

  function begin(
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
          known.look({ pod, ip });
          continue;
        }
        const probes = begin({ pod, ip, stopping: podProbes.stopping }, container);
        if (!probes) continue;
        podProbes.containers.set(container.id, probes);
        byContainerId.set(container.id, probes);
        if (logger.debugging) logger.debug("probes begin", { container: container.id });
      }
    },
    stopping: (podUid) => stop(probesOf(podUid)),
    forget,
    // Asked before it was observed, as can be in a kubelet that has just been restarted: what was said last stands.
    verdict: (pod, containerId) => byContainerId.get(containerId)?.verdict() ?? readKnown(pod, containerId),
    onChange: (handler) => void handlers.push(handler),
    startupBudget: (containerId) => byContainerId.get(containerId)?.startupBudget(),
    startupAdvice: (namespace, container) => adviseStartupProbe(startTimes.of(namespace, container)),
    close() {
      for (const uid of pods.keys()) forget(uid);
      alarms.close();
    },
  };
}

function findContainer({ spec }: Pod, name: string): ProbedContainer | undefined {
  const main = spec?.containers.find((container) => container.name === name);
  if (main) return { container: main, role: "main" };
  const init = spec?.initContainers?.find((container) => container.name === name);
  return init && { container: init, role: init.restartPolicy === "Always" ? "sidecar" : "init" };
}

/** What the API says of a container, by its id (`containerd://…`): an older one of that name says nothing of this one. */
function readKnown({ status }: Pod, containerId: string): { started: boolean; ready: boolean } {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const found = statuses.find(({ containerID = "" }) => runtimeContainerId(containerID) === containerId);
  const ready = found?.ready ?? false;
  // Not started is not ready: what was ready has started.
  return { started: ready || (found?.started ?? false), ready };
}

function findIp(
  { status }: Pod,
  { sandboxes }: ObservedPod,
  { container, hostIp }: { container: ObservedContainer; hostIp: string | undefined },
): string | undefined {
  const sandbox = sandboxes.find(({ id }) => id === container.sandboxId);
  return orderIps(sandbox?.ips ?? [], hostIp)[0] ?? status?.podIP ?? status?.hostIP ?? hostIp;
}
