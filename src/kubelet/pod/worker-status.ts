import type { Pod, PodStatus } from "../../api/objects.ts";
import type { EventRecorder } from "../../client/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { StartupNotes } from "../container/startup-notes.ts";
import type { PodObserver, PodPart } from "../pod-observer.ts";
import type { Prober } from "../probe/prober.ts";
import type { PodEnding, StartProblem, StatusFacts } from "../status/status-facts.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import type { PodPlan } from "./pod-plan.ts";
import { recordCrashLoops } from "./record-crash-loops.ts";
import type { RunOptions } from "./run-pod-actions.ts";

/** What one worker's pod is seen as: what the runtime shows, and what the worker came across. */
export interface WorkerStatus {
  /** Has the status written as it is now. */
  publish(): void;
  /** What those who carry plans out tell. */
  readonly reports: RunOptions["reports"];
  isHookPending(containerId: string): boolean;
  /** Which containers wait before their next start. */
  setCrashLoops(now: PodPlan["crashLoops"]): void;
  volumesMounted(): void;
}

export interface WorkerStatusDeps {
  readonly observer: PodObserver;
  readonly prober: Prober;
  readonly writer: StatusWriter;
  readonly recorder: EventRecorder;
  readonly notes: Pick<StartupNotes, "pendingHooks" | "hookBegins" | "hookEnded">;
  readonly generateStatus: (facts: Omit<StatusFacts, "features" | "hostIps" | "runtimeName">) => PodStatus;
  readonly clock: Clock;
}

interface Shown {
  readonly uid: string;
  readonly subject: () => { readonly pod: Pod; readonly inApi: Pod | undefined };
  readonly ending: () => PodEnding | undefined;
}

export function createWorkerStatus(deps: WorkerStatusDeps, { uid, subject, ending }: Shown): WorkerStatus {
  const { observer, prober, writer, notes } = deps;
  const problems = new Map<string, StartProblem>();
  /** Containers, by id, whose postStart hook has not ended: from the first status on, also after a restart. */
  const hooked = new Set(notes.pendingHooks(uid));
  let sandboxProblem: StartProblem | undefined;
  let crashLoops: PodPlan["crashLoops"] = new Map();

  function publish(): void {
    const { pod, inApi } = subject();
    if (!inApi) return;
    const status = deps.generateStatus({
      pod,
      observed: observer.get(uid),
      previous: writer.latest(inApi),
      problems: new Map([...problems, ...crashLoops]),
      sandboxProblem,
      verdict: (containerId) => {
        const verdict = prober.verdict(pod, containerId);
        return hooked.has(containerId) ? { ...verdict, ready: false } : verdict;
      },
      ending: ending(),
      now: deps.clock.now(),
    });
    writer.set(inApi, status);
  }

  const reports = {
    sandboxProblem(problem: StartProblem | undefined) {
      sandboxProblem = problem;
      publish();
    },
    containerProblem(name: string, problem: StartProblem | undefined) {
      if (problem) problems.set(name, problem);
      else problems.delete(name);
      publish();
    },
    async hookBegins(containerId: string) {
      await notes.hookBegins(uid, containerId);
      hooked.add(containerId);
    },
    async hookEnded(containerId: string) {
      hooked.delete(containerId);
      await notes.hookEnded(uid, containerId);
    },
    acted: async (part?: PodPart) =>
      void (await (part ? observer.refreshPart(uid, part) : observer.refresh(uid))),
  };

  return {
    publish,
    reports,
    isHookPending: (containerId) => hooked.has(containerId),
    setCrashLoops(now) {
      recordCrashLoops(deps.recorder, subject().pod, { before: crashLoops, now });
      const changed = now.size > 0 || crashLoops.size > 0;
      crashLoops = now;
      if (changed) publish();
    },
    volumesMounted() {
      if (sandboxProblem?.reason === "FailedMount") reports.sandboxProblem(undefined);
    },
  };
}
