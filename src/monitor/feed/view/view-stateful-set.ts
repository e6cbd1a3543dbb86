import { isReady } from "../../../api/conditions.ts";
import type { Pod, StatefulSet } from "../../../api/objects.ts";
import { hasEnded } from "../../../api/pod-phase.ts";
import { explainStatefulSet } from "../../explain/explain-stateful-set.ts";
import { ordinalOf, revisionOf } from "../../explain/find-hold-up.ts";
import type { StatefulSetView } from "../feed-message.ts";

type Health = StatefulSetView["ordinals"][number]["health"];

export interface StatefulSetFacts {
  readonly set: StatefulSet;
  /** Those that it controls. */
  readonly pods: readonly Pod[];
  /** One sentence: what a pod waits for. */
  explain(pod: Pod): string;
  readonly now: number;
}

/** A strip that is longer cannot be seen on a page. */
const mostOrdinals = 1_000;

/** A pod that takes longer than this to become ready is what the rollout waits for, even when all goes well with it. */
const patienceMs = 30_000;

export function viewStatefulSet(facts: StatefulSetFacts): StatefulSetView {
  const { set } = facts;
  const { namespace = "", name = "" } = set.metadata;
  const replicas = set.spec?.replicas ?? 1;
  return {
    namespace,
    name,
    strategy: set.spec?.updateStrategy?.type ?? "RollingUpdate",
    replicas,
    updateRevision: set.status?.updateRevision ?? "",
    ordinals: viewOrdinals(facts, replicas),
    holdUp: explainHoldUp(facts),
  };
}

function viewOrdinals({ set, pods }: StatefulSetFacts, replicas: number): StatefulSetView["ordinals"] {
  const first = set.spec?.ordinals?.start ?? 0;
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  // Those beyond the wanted ones are still there when it has just been scaled down.
  const wanted = Array.from({ length: Math.min(replicas, mostOrdinals) }, (_, i) => first + i);
  const ordinals = [...new Set([...wanted, ...byOrdinal.keys()])]
    .sort((a, b) => a - b)
    .slice(0, mostOrdinals);
  return ordinals.map((ordinal) => {
    const pod = byOrdinal.get(ordinal);
    return { ordinal, revision: (pod && revisionOf(pod)) ?? "", health: pod ? healthOf(pod) : "missing" };
  });
}

const onItsWay = new Set<string | undefined>([undefined, "", "ContainerCreating", "PodInitializing"]);

function healthOf(pod: Pod): Health {
  const { metadata, status } = pod;
  if (metadata.deletionTimestamp) return "terminating";
  if (hasEnded(pod)) return "failing";
  if (isReady(pod)) return "ready";
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const isFailing = containers.some(
    ({ state, lastState }) =>
      !onItsWay.has(state?.waiting?.reason) || (lastState?.terminated?.exitCode ?? 0) !== 0,
  );
  return isFailing ? "failing" : "starting";
}

function explainHoldUp({ set, pods, explain, now }: StatefulSetFacts): string | undefined {
  const whole = explainStatefulSet(set, pods);
  const pod = pods.find(({ metadata }) => metadata.name === whole.holdUp);
  if (pod) {
    const sinceMs = Date.parse(pod.metadata.deletionTimestamp ?? pod.metadata.creationTimestamp ?? "");
    if (healthOf(pod) !== "failing" && now - sinceMs <= patienceMs) return undefined;
    const why = `${pod.metadata.name}: ${explain(pod)}`;
    return whole.healsByItself ? why : `${whole.because} ${why}`;
  }
  return whole.healsByItself ? saysStuck(set) : whole.because;
}

/** Controllers that have a condition for it say themselves when nothing goes on; Recreate says so too when it is done. */
function saysStuck({ status }: StatefulSet): string | undefined {
  const progressing = status?.conditions?.find(({ type }) => type === "Progressing");
  if (progressing?.status !== "False" || progressing.reason === "RecreateCompleted") return undefined;
  return progressing.message;
}
