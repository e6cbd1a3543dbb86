import { controllerOf } from "../../../api/controller-reference.ts";
import type { Pod } from "../../../api/objects.ts";
import { explainPod } from "../../explain/explain-pod.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import { waterfall } from "../../explain/waterfall.ts";
import type { PodView, PullView } from "../feed-message.ts";
import { nameOwner } from "./name-owner.ts";
import { viewProbes } from "./view-probes.ts";

export interface PodViewFacts extends PodFacts {
  readonly pulls: readonly PullView[];
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

function ownerOf(pod: Pod): string {
  const { metadata } = pod;
  const owner = controllerOf(pod);
  const { "controller-revision-hash": controllerRevision, "pod-template-hash": templateHash } =
    metadata.labels ?? {};
  const kind = owner?.kind ?? "Pod";
  const name = owner?.name ?? metadata.name ?? "";
  return nameOwner({ kind, name, revision: controllerRevision ?? templateHash ?? "" });
}
