import { controllerReference } from "../../api/meta/object-facts.ts";
import type { PersistentVolumeClaim, Pod, StatefulSet, Volume } from "../../api/meta/objects.ts";
import type { PodTemplate } from "../../api/pod/defaults/pod.ts";

const podNameLabel = "statefulset.kubernetes.io/pod-name";
const podIndexLabel = "apps.kubernetes.io/pod-index";
const revisionLabel = "controller-revision-hash";

const maxOrdinal = 2 ** 31 - 1;

/** Parses `web-3` into `web` and 3. Undefined for a name that no StatefulSet creates. */
export function parsePodName(
  name: string,
): { readonly parent: string; readonly ordinal: number } | undefined {
  // A single expression would backtrack, and thousands of names are parsed per sync.
  const dash = name.lastIndexOf("-");
  const digits = name.slice(dash + 1);
  if (dash === -1 || !/^[0-9]+$/.test(digits)) return undefined;
  const ordinal = Number(digits);
  return ordinal > maxOrdinal ? undefined : { parent: name.slice(0, dash), ordinal };
}

export function ordinalOf(pod: Pod): number {
  return parsePodName(pod.metadata.name ?? "")?.ordinal ?? -1;
}

export function isMemberOf(set: StatefulSet, pod: Pod): boolean {
  return parsePodName(pod.metadata.name ?? "")?.parent === set.metadata.name;
}

/** First and last ordinal of the set's pods. Without replicas, the last is less than the first. */
export function ordinalsOf({ spec }: StatefulSet): { readonly first: number; readonly last: number } {
  const first = spec?.ordinals?.start ?? 0;
  return { first, last: first + (spec?.replicas ?? 1) - 1 };
}

export function isInRange(set: StatefulSet, ordinal: number): boolean {
  const { first, last } = ordinalsOf(set);
  return ordinal >= first && ordinal <= last;
}

export function revisionOf(pod: Pod): string {
  return pod.metadata.labels?.[revisionLabel] ?? "";
}

function claimName(set: StatefulSet, template: string, ordinal: number): string {
  return `${template}-${set.metadata.name}-${ordinal}`;
}

/** Claims of the pod with this ordinal, by template name. */
export function claimsOf(set: StatefulSet, ordinal: number): ReadonlyMap<string, PersistentVolumeClaim> {
  const claims = new Map<string, PersistentVolumeClaim>();
  for (const template of set.spec?.volumeClaimTemplates ?? []) {
    const { name: templateName = "", labels, annotations } = template.metadata ?? {};
    claims.set(templateName, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: claimName(set, templateName, ordinal),
        namespace: set.metadata.namespace,
        labels: { ...labels, ...set.spec?.selector.matchLabels },
        ...(annotations && { annotations }),
      },
      spec: template.spec,
    });
  }
  return claims;
}

/** Volumes of the claims, followed by the volumes of the pod that they do not replace. */
function withClaims(set: StatefulSet, ordinal: number, volumes: readonly Volume[]): Volume[] {
  const claims = claimsOf(set, ordinal);
  const claimed = [...claims].map(([name, { metadata }]) => ({
    name,
    persistentVolumeClaim: { claimName: metadata.name ?? "" },
  }));
  return [...claimed, ...volumes.filter(({ name }) => !claims.has(name))];
}

function hasStorage(set: StatefulSet, pod: Pod): boolean {
  return (set.spec?.volumeClaimTemplates ?? []).every(({ metadata }) => {
    const { name = "" } = metadata ?? {};
    const volume = pod.spec?.volumes?.find((candidate) => candidate.name === name);
    return volume?.persistentVolumeClaim?.claimName === claimName(set, name, ordinalOf(pod));
  });
}

export interface Revision {
  readonly name: string;
  /** Position in the set's history. It grows with every change of the template, also back to an earlier one. */
  readonly number: number;
  readonly template: PodTemplate;
}

export function newPod(
  set: StatefulSet,
  { name: revision, template }: Pick<Revision, "name" | "template">,
  ordinal: number,
): Pod {
  const name = `${set.metadata.name}-${ordinal}`;
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const { volumes = [], ...spec } = template.spec ?? { containers: [] };
  const all = withClaims(set, ordinal, volumes);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      generateName: `${set.metadata.name}-`,
      namespace: set.metadata.namespace,
      labels: {
        ...labels,
        [podNameLabel]: name,
        [podIndexLabel]: String(ordinal),
        [revisionLabel]: revision,
      },
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [controllerReference(set)],
    },
    spec: {
      ...spec,
      ...(all.length > 0 && { volumes: all }),
      hostname: name,
      subdomain: set.spec?.serviceName ?? "",
    },
  };
}

/** The pod with the labels and volumes of its identity. Undefined if they are correct. */
export function correctedPod(set: StatefulSet, pod: Pod): Pod | undefined {
  const { name = "", labels } = pod.metadata;
  const stored = hasStorage(set, pod);
  if (stored && labels?.[podNameLabel] === name) return undefined;
  const ordinal = ordinalOf(pod);
  const spec = pod.spec ?? { containers: [] };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...labels, [podNameLabel]: name, [podIndexLabel]: String(ordinal) },
    },
    spec: stored ? spec : { ...spec, volumes: withClaims(set, ordinal, spec.volumes ?? []) },
  };
}
