// Clauses: 3815-9
import type { Features } from "../../api/meta/feature-gates.ts";
import type { Node, NodeStatus, Pod, PodStatus, RuntimeClass } from "../../api/meta/objects.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import { type ContainerNodeFacts, canMountRecursively, type MachineFacts } from "../model/node-facts.ts";
import type { ObservedPod, Prober } from "../model/observed-pod.ts";
import type { StartupCheckpoints } from "../model/startup-checkpoints.ts";
import type { Machine } from "../node/read-machine.ts";
import { generatePodStatus } from "../status/generate-pod-status.ts";
import { type PodTermination, recoverProblems, type StartProblem } from "../status/status-facts.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import type { VolumeNodeFacts } from "../volumes/volume-request.ts";
import type { PodObserver, PodPart } from "./pod-observer.ts";
import { type PodPlan, recordCrashLoops } from "./pod-plan.ts";
import type { RunOptions } from "./run-pod-actions.ts";

/** Facts about the node that pods, containers and volumes depend on. */
export interface NodeView extends ContainerNodeFacts, VolumeNodeFacts {
  readonly runtimeHandlers: NonNullable<NodeStatus["runtimeHandlers"]>;
}

/** Node status updater, as far as the view uses it. */
interface NodeSource {
  node(): Node | undefined;
  refresh(signal: AbortSignal): Promise<void>;
}

interface NodeViewOptions {
  readonly nodeName: string;
  /** Overrides the addresses of the machine. */
  readonly nodeIps: readonly string[] | undefined;
  readonly machine: Machine;
  readonly machineFacts: MachineFacts;
}

/**
 * View of the node that combines its API object with the machine. Before the node is registered, the machine's own
 * values are used. `setSource` is called once the node status updater exists: it needs the kubelet server's port, the
 * server needs the pod workers, and those need this view.
 */
export function createNodeView({ nodeName, nodeIps, machine, machineFacts }: NodeViewOptions) {
  const measured = { cpu: `${machine.cpus}`, memory: `${machine.memoryBytes}` };
  let source: NodeSource = { node: () => undefined, refresh: () => Promise.resolve() };
  return {
    setSource(newSource: NodeSource): void {
      source = newSource;
    },
    refresh: (signal: AbortSignal): Promise<void> => source.refresh(signal),
    get(): NodeView {
      const { metadata, status } = source.node() ?? {};
      return {
        name: nodeName,
        labels: metadata?.labels ?? {},
        memoryBytes: machine.memoryBytes,
        allocatable: status?.allocatable ?? measured,
        hostIps: nodeIps ?? machine.addresses,
        machine: machineFacts,
        runtimeHandlers: status?.runtimeHandlers ?? [],
      };
    },
  };
}

/** Status of one worker's pod, generated from the state in the runtime and from the problems that the worker met. */
interface WorkerStatus {
  /** Generates the status and passes it to the status writer. */
  publish(): void;
  /** Callbacks that runPodActions uses to report results. */
  readonly reports: RunOptions["reports"];
  isHookPending(containerId: string): boolean;
  /** Replaces the containers that wait in CrashLoopBackOff. */
  setCrashLoops(now: PodPlan["crashLoops"]): void;
  volumesMounted(): void;
}

export interface WorkerStatusDeps {
  readonly observer: PodObserver;
  readonly prober: Prober;
  readonly writer: StatusWriter;
  readonly recorder: EventRecorder;
  readonly checkpoints: Pick<StartupCheckpoints, "pendingHooks" | "hookBegins" | "hookEnded">;
  readonly node: () => Pick<NodeView, "hostIps" | "runtimeHandlers">;
  readonly findRuntimeClass: (name: string) => RuntimeClass | undefined;
  readonly features: Features;
  readonly runtimeName: string;
  readonly clock: Clock;
}

interface WorkerState {
  readonly uid: string;
  readonly latest: () => { readonly pod: Pod; readonly inApi: Pod | undefined };
  readonly termination: () => PodTermination | undefined;
}

export function createWorkerStatus(deps: WorkerStatusDeps, state: WorkerState): WorkerStatus {
  const { observer, prober, writer, checkpoints, node } = deps;
  const { uid, latest, termination } = state;
  const problems = new Map<string, StartProblem>();
  /** Names of containers that this kubelet has tried to start. */
  const tried = new Set<string>();
  let recovered = false;
  /** Ids of containers whose postStart hook has not completed, including hooks that a previous kubelet began. */
  const hooked = new Set(checkpoints.pendingHooks(uid));
  let sandboxProblem: StartProblem | undefined;
  let crashLoops: PodPlan["crashLoops"] = new Map();

  function publish(): void {
    const { pod, inApi } = latest();
    if (!inApi) return;
    const previous = writer.latest(inApi);
    const observed = observer.get(uid);
    const isFirst = !recovered;
    recover(pod, previous, observed);
    const { hostIps, runtimeHandlers } = node();
    const status = generatePodStatus({
      pod,
      observed,
      isFirst,
      previous,
      problems: new Map([...problems, ...crashLoops]),
      sandboxProblem,
      probeResult: (containerId) => {
        const probeResult = prober.probeResult(pod, containerId);
        return hooked.has(containerId) ? { ...probeResult, ready: false } : probeResult;
      },
      termination: termination(),
      hostIps,
      runtimeName: deps.runtimeName,
      recursiveReadOnlyMounts: canMountRecursively(pod, deps.findRuntimeClass, runtimeHandlers),
      features: deps.features,
      now: deps.clock.now(),
    });
    writer.set(inApi, status);
  }

  /** Takes over the problems in the first status that the API has of the pod. A static pod's mirror may come late. */
  function recover(pod: Pod, previous: PodStatus | undefined, observed: ObservedPod | undefined): void {
    if (recovered) return;
    recovered = true;
    for (const [name, problem] of recoverProblems({ pod, previous, observed })) {
      if (!tried.has(name)) problems.set(name, problem);
    }
  }

  const reports = {
    sandboxProblem(problem: StartProblem | undefined) {
      sandboxProblem = problem;
      publish();
    },
    containerProblem(name: string, problem: StartProblem | undefined) {
      tried.add(name);
      if (problem) problems.set(name, problem);
      else problems.delete(name);
      publish();
    },
    async hookBegins(containerId: string) {
      await checkpoints.hookBegins(uid, containerId);
      hooked.add(containerId);
    },
    async hookEnded(containerId: string) {
      hooked.delete(containerId);
      await checkpoints.hookEnded(uid, containerId);
    },
    runtimeChanged: async (part?: PodPart) =>
      void (await (part ? observer.refreshPart(uid, part) : observer.refresh(uid))),
  };

  return {
    publish,
    reports,
    isHookPending: (containerId) => hooked.has(containerId),
    setCrashLoops(now) {
      recordCrashLoops(deps.recorder, latest().pod, { before: crashLoops, now });
      const changed = now.size > 0 || crashLoops.size > 0;
      crashLoops = now;
      if (changed) publish();
    },
    volumesMounted() {
      if (sandboxProblem?.reason === "FailedMount") reports.sandboxProblem(undefined);
    },
  };
}
