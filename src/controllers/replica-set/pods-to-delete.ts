import { conditionOf, isReady } from "../../api/conditions.ts";
import type { Pod } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";

const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const maxCost = 2 ** 31 - 1;
const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

interface Standing {
  /** The pods, and those of the sets that belong together with theirs. */
  readonly related: readonly Pod[];
  readonly now: number;
}

/** The pods that are missed least: those that do less come first, then those that stand close together. */
export function podsToDelete(
  pods: readonly Pod[],
  count: number,
  { related, now }: Standing,
): readonly Pod[] {
  if (count >= pods.length) return pods;
  const onNode = new Map<string, number>();
  for (const pod of related) {
    const node = pod.spec?.nodeName ?? "";
    onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  const crowd = (pod: Pod) => onNode.get(pod.spec?.nodeName ?? "") ?? 0;
  return [...pods].sort((a, b) => compare(a, b, { crowd, now })).slice(0, count);
}

interface Comparison {
  crowd(pod: Pod): number;
  readonly now: number;
}

/** Upstream's order: each line decides where those above it do not. */
function compare(a: Pod, b: Pod, { crowd, now }: Comparison): number {
  return (
    Number(isAssigned(a)) - Number(isAssigned(b)) ||
    phaseOf(a) - phaseOf(b) ||
    Number(isReady(a)) - Number(isReady(b)) ||
    costOf(a) - costOf(b) ||
    crowd(b) - crowd(a) ||
    compareAges(readySince(a), readySince(b), { a, b, now }) ||
    restartsOf(b) - restartsOf(a) ||
    sidecarRestartsOf(b) - sidecarRestartsOf(a) ||
    compareAges(createdAt(a), createdAt(b), { a, b, now })
  );
}

function isAssigned({ spec }: Pod): boolean {
  return Boolean(spec?.nodeName);
}

function phaseOf({ status }: Pod): number {
  return phaseOrder[status?.phase ?? ""] ?? 0;
}

/** What is not a number costs nothing. */
function costOf({ metadata }: Pod): number {
  const text = metadata.annotations?.[deletionCost] ?? "";
  if (!/^(0|-?[1-9][0-9]{0,9})$/.test(text)) return 0;
  const cost = Number(text);
  return cost > maxCost || cost < -maxCost - 1 ? 0 : cost;
}

/**
 * The younger first. Ages count by their order of magnitude, so that equals are chosen by chance: otherwise scaling
 * down would always take what the last scaling up has brought, and leave old pods in one zone.
 */
function compareAges(
  sinceA: number,
  sinceB: number,
  { a, b, now }: { readonly a: Pod; readonly b: Pod; readonly now: number },
): number {
  if (sinceA === sinceB) return 0;
  return magnitude(now - sinceA) - magnitude(now - sinceB) || compareUids(a, b);
}

function magnitude(ageMs: number): number {
  // Of nanoseconds, as upstream counts.
  return ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1;
}

function compareUids(a: Pod, b: Pod): number {
  return (a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1;
}

function readySince(pod: Pod): number {
  return isReady(pod) ? timeOf(conditionOf(pod, "Ready")?.lastTransitionTime) : 0;
}

function createdAt({ metadata }: Pod): number {
  return timeOf(metadata.creationTimestamp);
}

function timeOf(text: string | undefined): number {
  return (text && Date.parse(text)) || 0;
}

function restartsOf({ status }: Pod): number {
  return Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

function sidecarRestartsOf({ spec, status }: Pod): number {
  const sidecars = new Set(spec?.initContainers?.filter(isSidecar).map(({ name }) => name));
  const counts = (status?.initContainerStatuses ?? [])
    .filter(({ name }) => sidecars.has(name))
    .map(({ restartCount }) => restartCount);
  return Math.max(0, ...counts);
}
