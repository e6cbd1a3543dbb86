import {
  templateGenerationLabel,
  templateGenerationOf,
} from "../../api/kinds/apps/daemon-set/template-generation.ts";
import { isEqual } from "../../api/meta/is-equal.ts";
import type { DaemonSet, Node, Pod, PodSpec } from "../../api/meta/objects.ts";
import { requiredNodes, type Taint, type Toleration, toleratesTaint } from "../../api/pod/node-matcher.ts";
import { podOf } from "../shared/change-pods.ts";

/** Label of pods and revisions with the hash of the template. */
export const hashLabel = "controller-revision-hash";

/** Pod of a DaemonSet for one node. The scheduler binds it, because it selects the node by name. */
export function newDaemonPod(set: DaemonSet, { node, hash }: { node: string; hash: string }): Pod {
  const pod = podOf(set, set.spec?.template);
  const generation = templateGenerationOf(set);
  const { spec = { containers: [] } } = pod;
  const matchFields = [{ key: "metadata.name", operator: "In", values: [node] }];
  const nodeAffinity = {
    ...spec.affinity?.nodeAffinity,
    // The terms of the template have been matched against this node.
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
  };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: {
        ...pod.metadata.labels,
        ...(generation !== undefined && { [templateGenerationLabel]: `${generation}` }),
        [hashLabel]: hash,
      },
    },
    spec: { ...spec, affinity: { ...spec.affinity, nodeAffinity }, tolerations: tolerationsOf(spec) },
  };
}

const added = [
  ["not-ready", "NoExecute"],
  ["unreachable", "NoExecute"],
  ["disk-pressure", "NoSchedule"],
  ["memory-pressure", "NoSchedule"],
  ["pid-pressure", "NoSchedule"],
  ["unschedulable", "NoSchedule"],
] as const;

/** Tolerations of the template and those that all pods of DaemonSets have: problems of a node do not evict them. */
function tolerationsOf(spec: PodSpec | undefined): Toleration[] {
  const tolerations = [...(spec?.tolerations ?? [])];
  const network = spec?.hostNetwork ? [["network-unavailable", "NoSchedule"] as const] : [];
  for (const [name, effect] of [...added, ...network]) {
    const toleration = { key: `node.kubernetes.io/${name}`, operator: "Exists", effect };
    if (!tolerations.some((known) => isEqual(known, toleration))) tolerations.push(toleration);
  }
  return tolerations;
}

/**
 * What a DaemonSet does on a node. `keep`: running pods stay, but none is created, because of a taint with the effect
 * NoSchedule.
 */
export type Placement = "run" | "keep" | "none";

/** Returns a function that decides the placement on a node from its name, labels and taints. */
export function placementOf({ spec }: DaemonSet): (node: Node) => Placement {
  const podSpec = spec?.template.spec;
  const tolerations = tolerationsOf(podSpec);
  const matches = requiredNodes({ spec: podSpec });
  const isTolerated = (taint: Taint) => tolerations.some((toleration) => toleratesTaint(toleration, taint));
  return (node) => {
    const { name = "", labels = {} } = node.metadata;
    if (podSpec?.nodeName && podSpec.nodeName !== name) return "none";
    if (matches && !matches({ name, labels })) return "none";
    const untolerated = node.spec?.taints?.filter((taint) => !isTolerated(taint)) ?? [];
    if (untolerated.some(({ effect }) => effect === "NoExecute")) return "none";
    return untolerated.some(({ effect }) => effect === "NoSchedule") ? "keep" : "run";
  };
}

/** Node that a pod runs on or will be bound to. Undefined for an adopted pod that selects no node by name. */
export function targetNodeOf({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName;
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const named = terms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === "metadata.name" && operator === "In");
  return named?.values?.length === 1 ? named.values[0] : undefined;
}

/** Whether a pod was created from the current template. */
export function isUpdated(pod: Pod, set: DaemonSet, hash: string): boolean {
  const { labels = {} } = pod.metadata;
  const generation = templateGenerationOf(set);
  return (
    labels[hashLabel] === hash ||
    (generation !== undefined && labels[templateGenerationLabel] === `${generation}`)
  );
}
