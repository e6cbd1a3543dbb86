import { createHash } from "node:crypto";
import { controllerReference } from "../../api/controller-reference.ts";
import type { PodTemplate } from "../../api/defaults/pod-template.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Deployment, ReplicaSet } from "../../api/objects.ts";
import { byAge } from "./replica-set-size.ts";
import { currentSetAnnotations, sizeAnnotations } from "./revision-annotations.ts";

const hashLabel = "pod-template-hash";
const longestName = 253;
/** Letters that spell nothing: upstream's. */
const letters = "bcdfghjklmnpqrstvwxz2456789";

interface Sets {
  /** The one with the Deployment's template; the oldest, should there be more. */
  readonly current?: ReplicaSet;
  readonly old: readonly ReplicaSet[];
}

export function splitSets(deployment: Deployment, sets: readonly ReplicaSet[]): Sets {
  const sorted = [...sets].sort(byAge);
  const current = sorted.find((set) => hasTemplateOf(deployment, set));
  return { ...(current && { current }), old: sorted.filter((set) => set !== current) };
}

export function hasTemplateOf({ spec }: Deployment, set: ReplicaSet): boolean {
  return isEqual(withoutHash(spec?.template), withoutHash(set.spec?.template));
}

function withoutHash(template: PodTemplate | undefined): PodTemplate {
  const { [hashLabel]: _, ...labels } = template?.metadata?.labels ?? {};
  return { ...template, metadata: { ...template?.metadata, labels } };
}

/** Its name follows from the template: made twice, the second one is refused. */
export function newReplicaSet(
  deployment: Deployment,
  { revision, replicas }: { readonly revision: number; readonly replicas: number },
): ReplicaSet {
  const { name = "", namespace } = deployment.metadata;
  const { template = {}, selector, minReadySeconds } = deployment.spec ?? {};
  const hash = hashOf(template, deployment.status?.collisionCount);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const set: ReplicaSet = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${name.slice(0, longestName - hash.length - 1)}-${hash}`,
      namespace,
      labels,
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  set.metadata.annotations = {
    ...currentSetAnnotations(deployment, set, revision),
    ...sizeAnnotations(deployment),
  };
  return set;
}

function hashOf(template: PodTemplate, collisionCount: number | undefined): string {
  const text = JSON.stringify(template, (_, value: unknown) => sorted(value)) + (collisionCount ?? "");
  const number = createHash("sha256").update(text).digest().readUInt32BE();
  return [...String(number)].map((digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** The order of keys is not part of an object. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
