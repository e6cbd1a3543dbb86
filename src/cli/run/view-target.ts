import { StatusError } from "../../api/meta/status-error.ts";
import type { Client, ObjectKey } from "../../client/api/client.ts";
import { explainCronJob } from "../../explain/explain-cron-job.ts";
import { explainDaemonSet } from "../../explain/explain-daemon-set.ts";
import { explainJob } from "../../explain/explain-job.ts";
import { explainPod } from "../../explain/explain-pod.ts";
import { explainDeployment, explainReplicaSet } from "../../explain/explain-replicas.ts";
import { explainStatefulSet, type Platform } from "../../explain/explain-stateful-set.ts";
import { revisionOf } from "../../explain/stateful-set-pods.ts";
import { waterfall } from "../../explain/waterfall.ts";
import { systemClock } from "../../lib/clock.ts";
import { gatherFacts } from "../../monitor/feed/gather-facts.ts";
import {
  gatherCronJob,
  gatherDaemonSet,
  gatherDeployment,
  gatherJob,
  gatherReplicaSet,
  gatherSet,
  gatherUnready,
  readPlatform,
} from "../../monitor/feed/gather-workload.ts";
import type { WhyList } from "../printer/why-list.ts";
import { isWorkloadOver, type WhyView, type WorkloadView } from "../printer/why-screen.ts";
import type { Target } from "./parse-target.ts";

type Key = Required<ObjectKey>;

/** Returns a function that explains a pod, or a workload with its blocking pod. */
export function createTargetViewer(
  client: Client,
  { kind, namespace, name }: Target & { readonly namespace: string },
): (signal: AbortSignal) => Promise<WhyView> {
  const key = { namespace, name };
  const readPlatformOnce = once((signal) => readPlatform(client, key, signal));
  const view = async (
    workload: WorkloadView["kind"],
    { explanation, unreadable }: Pick<WorkloadView, "explanation" | "unreadable">,
    signal: AbortSignal,
  ): Promise<WhyView> => ({
    workload: { kind: workload, ...key, explanation, unreadable },
    pod: await viewBlockingPod(client, { namespace, name: explanation.blockingPod }, signal),
  });
  return async (signal) => {
    const now = systemClock.now();
    switch (kind) {
      case "pod":
        return { pod: await viewPod(client, key, signal) };
      case "statefulset": {
        const facts = await gatherSet(client, key, signal);
        const platform = await readPlatformOnce(signal);
        const explanation = explainStatefulSet({ ...facts, platform, now });
        const found = await view("StatefulSet", { ...facts, explanation }, signal);
        return withoutOutdatedFix(found, facts.set.status?.updateRevision);
      }
      case "deployment": {
        const facts = await gatherDeployment(client, key, signal);
        return view("Deployment", { ...facts, explanation: explainDeployment({ ...facts, now }) }, signal);
      }
      case "replicaset": {
        const facts = await gatherReplicaSet(client, key, signal);
        return view("ReplicaSet", { ...facts, explanation: explainReplicaSet({ ...facts, now }) }, signal);
      }
      case "daemonset": {
        const facts = await gatherDaemonSet(client, key, signal);
        return view("DaemonSet", { ...facts, explanation: explainDaemonSet({ ...facts, now }) }, signal);
      }
      case "job": {
        const facts = await gatherJob(client, key, signal);
        return view("Job", { ...facts, explanation: explainJob({ ...facts, now }) }, signal);
      }
      case "cronjob": {
        const facts = await gatherCronJob(client, key, signal);
        return view("CronJob", { ...facts, explanation: explainCronJob({ ...facts, now }) }, signal);
      }
    }
  };
}

/** Reads the platform once: gates change only when the API server restarts. */
function once(read: (signal: AbortSignal) => Promise<Platform>): (signal: AbortSignal) => Promise<Platform> {
  let known: Platform | undefined;
  return async (signal) => {
    known ??= await read(signal);
    return known;
  };
}

async function viewPod(client: Client, key: Key, signal: AbortSignal) {
  const facts = await gatherFacts({ client, clock: systemClock }, key, signal);
  return { facts, explanation: explainPod(facts), spans: waterfall(facts.pod, facts) };
}

/** Explains the blocking pod, if there is one. It may be deleted meanwhile. */
async function viewBlockingPod(
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string | undefined },
  signal: AbortSignal,
): Promise<WhyView["pod"]> {
  if (name === undefined) return undefined;
  try {
    return await viewPod(client, { namespace, name }, signal);
  } catch (error) {
    if (error instanceof StatusError && error.reason === "NotFound") return undefined;
    throw error;
  }
}

/** A pod of an older revision is fixed by its replacement: a change of the template would not change it. */
function withoutOutdatedFix({ workload, pod }: WhyView, updateRevision: string | undefined): WhyView {
  if (!pod || !workload?.explanation.fix || revisionOf(pod.facts.pod) === updateRevision)
    return { workload, pod };
  return { workload, pod: { ...pod, explanation: { ...pod.explanation, fix: undefined } } };
}

/** Whether a watched object has become ready or has ended. */
export function isOver({ pod, workload }: WhyView): boolean {
  if (workload) return isWorkloadOver(workload.explanation);
  return pod?.explanation.stage === "ready" || pod?.explanation.stage === "ended";
}

/** Pods to list. */
export interface ListSelection {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
}

/** Explains all pods of a selection that are not ready, by namespace and name. */
export async function viewList(
  client: Client,
  selection: ListSelection,
  signal: AbortSignal,
): Promise<WhyList> {
  const { pods, total, unreadable, now } = await gatherUnready(
    { client, clock: systemClock },
    selection,
    signal,
  );
  const rows = pods
    .map((facts) => {
      const { namespace = "", name = "" } = facts.pod.metadata;
      return { namespace, name, explanation: explainPod(facts) };
    })
    .toSorted((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name));
  const labels = selection.labelSelector ? ` with the labels ${selection.labelSelector}` : "";
  const where = selection.namespace ? `in the namespace ${selection.namespace}` : "in all namespaces";
  return { rows, total, where: `${where}${labels}`, unreadable, now };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
