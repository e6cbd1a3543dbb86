import { conditionOf, isReady, isTrue } from "../api/meta/object-facts.ts";
import type { Event, Job, Pod } from "../api/meta/objects.ts";
import { hasEnded, isTerminating } from "../api/pod/pod-state.ts";
import { inCommands } from "./commands.ts";
import { lastEvent, sentence, type WorkloadExplanation } from "./explanation.ts";
import { podHealth } from "./pod-health.ts";

export interface JobFacts {
  readonly job: Job;
  /** Pods that the Job controls. */
  readonly pods: readonly Pod[];
  /** Events of the Job, in any order. */
  readonly events?: readonly Event[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Verdict = Pick<WorkloadExplanation, "because" | "isTransient" | "fix" | "blockingPod">;

/** Explains what a Job waits for, or how it ended. */
export function explainJob(facts: JobFacts): WorkloadExplanation {
  const { job, pods } = facts;
  const { spec, status } = job;
  const wanted = spec?.completions ?? 1;
  const succeeded = status?.succeeded ?? 0;
  const failed = status?.failed ?? 0;
  return {
    replicas: wanted,
    ready: pods.filter(isReady).length,
    updated: succeeded,
    strategy: spec?.completionMode ?? "NonIndexed",
    progress: `${succeeded} of ${wanted} succeeded${failed > 0 ? `, ${failed} failed` : ""}`,
    isOver: isTrue(job, "Complete") || isTrue(job, "Failed"),
    ...(explainEnd(facts) ?? explainHold(facts) ?? explainEnding(job) ?? explainPods(facts)),
  };
}

function explainEnd({ job, pods }: JobFacts): Verdict | undefined {
  const failed = conditionOf(job, "Failed");
  if (failed?.status === "True") {
    const { reason = "", message = "" } = failed;
    return {
      because: sentence(`The Job has failed (${reason}): ${message}`),
      isTransient: false,
      fix: `a Job that has failed is not retried; fix its template, then replace it: kubectl delete job ${inCommands(job)}`,
      blockingPod: lastFailed(pods)?.metadata.name,
    };
  }
  if (!isTrue(job, "Complete")) return undefined;
  const message = conditionOf(job, "Complete")?.message ?? "";
  const because = sentence(`The Job is complete${message ? `: ${message}` : ""}`);
  return { because, isTransient: true, fix: undefined, blockingPod: undefined };
}

/** Explains a Job that does not want any pods. */
function explainHold({ job }: JobFacts): Verdict | undefined {
  const { metadata, spec, status } = job;
  const verdict = (because: string, fix?: string): Verdict => ({
    because,
    isTransient: fix === undefined,
    fix,
    blockingPod: undefined,
  });
  if (metadata.deletionTimestamp) {
    const finalizers = metadata.finalizers?.join(", ");
    const held = finalizers ? `; its finalizers block the deletion: ${finalizers}` : "";
    return verdict(`The Job is being deleted${held}.`);
  }
  if (
    spec?.managedBy !== undefined &&
    spec.managedBy !== "kubernetes.io/job-controller" &&
    !status?.startTime
  )
    return verdict(
      `The controller ${spec.managedBy} manages the Job (spec.managedBy) and has not started it.`,
    );
  if (spec?.suspend) {
    const patch = `kubectl patch job ${inCommands(job)} --type merge -p '{"spec":{"suspend":false}}'`;
    return verdict("The Job is suspended (spec.suspend).", `resume it: ${patch}`);
  }
  if (spec?.parallelism === 0) {
    const patch = `kubectl patch job ${inCommands(job)} --type merge -p '{"spec":{"parallelism":1}}'`;
    return verdict("No pods are wanted: spec.parallelism is 0.", `allow pods: ${patch}`);
  }
  return undefined;
}

function explainEnding(job: Job): Verdict | undefined {
  const target = conditionOf(job, "FailureTarget");
  const isFailing = target?.status === "True";
  if (!isFailing && !isTrue(job, "SuccessCriteriaMet")) return undefined;
  const terminating = job.status?.terminating ?? 0;
  const what = isFailing ? `The Job is failing (${target.reason})` : "The Job has succeeded";
  const because = `${what} and waits for ${terminating} ${terminating === 1 ? "pod" : "pods"} to terminate.`;
  return { because, isTransient: true, fix: undefined, blockingPod: undefined };
}

function explainPods({ job, pods, events = [], now }: JobFacts): Verdict {
  const active = pods.filter((pod) => !hasEnded(pod) && !isTerminating(pod));
  const isPermanent = (pod: Pod) => podHealth(pod, { now }).kind === "permanent";
  const waiting = active.filter((pod) => !isReady(pod));
  const blocking = waiting.find(isPermanent) ?? waiting[0];
  const more = { isTransient: true, fix: undefined };
  if (blocking) {
    const { name } = blocking.metadata;
    return { ...more, because: `The Job waits for pod ${name}.`, blockingPod: name };
  }
  if (active.length > 0) {
    const because = active.length === 1 ? "1 pod is running." : `${active.length} pods are running.`;
    return { ...more, because, blockingPod: undefined };
  }
  const rejected = lastEvent({ events }, "FailedCreate")?.message;
  const last = lastFailed(pods);
  if (last) {
    const limit = job.spec?.backoffLimit ?? 6;
    const failures = `${job.status?.failed ?? 0} failures, at most ${limit} are allowed (spec.backoffLimit)`;
    return {
      ...more,
      because: `Pod ${last.metadata.name} failed, and the next pod is created after a back-off: ${failures}.`,
      blockingPod: last.metadata.name,
    };
  }
  const because = rejected ? sentence(`The Job has no pods: ${rejected}`) : "The Job has no pods yet.";
  const fix = rejected ? `see the events: kubectl describe job ${inCommands(job)}` : undefined;
  return { because, isTransient: true, fix, blockingPod: undefined };
}

function lastFailed(pods: readonly Pod[]): Pod | undefined {
  const createdMs = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  return pods
    .filter(({ status }) => status?.phase === "Failed")
    .toSorted((a, b) => createdMs(b) - createdMs(a))[0];
}
