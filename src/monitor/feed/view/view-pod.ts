import type { Pod } from "../../../api/objects.ts";
import { explainPod } from "../../explain/explain-pod.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import { waterfall } from "../../explain/waterfall.ts";
import type { PodView, PullView } from "../feed-message.ts";
import { nameOwner } from "./name-owner.ts";
import { type KnownBudget, viewProbes } from "./view-probes.ts";

export interface PodViewFacts extends PodFacts {
  readonly pulls: readonly PullView[];
  /** What the node's kubelet says of startup probes; empty where it cannot say. */
  readonly budgets: readonly KnownBudget[];
}

export function viewPod(facts: PodViewFacts): PodView {
  const { pod, pulls } = facts;
  const { uid = "", namespace = "", name = "", creationTimestamp } = pod.metadata;
  return {
    uid,
    namespace,
    name,
    node: pod.spec?.nodeName,
    owner: ownerOf(pod),
    createdMs: creationTimestamp ? Date.parse(creationTimestamp) : facts.now,
    ...explainPod(facts),
    spans: waterfall(pod, facts),
    pulls,
    probes: viewProbes(facts),
  };
}

function ownerOf({ metadata }: Pod): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  const { "controller-revision-hash": controllerRevision, "pod-template-hash": templateHash } =
    metadata.labels ?? {};
  const kind = owner?.kind ?? "Pod";
  const name = owner?.name ?? metadata.name ?? "";
  return nameOwner({ kind, name, revision: controllerRevision ?? templateHash ?? "" });
}
