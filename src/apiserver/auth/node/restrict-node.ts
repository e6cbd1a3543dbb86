import { isDeepStrictEqual } from "node:util";
import type { Node } from "../../../api/objects.ts";
import type { NodeWrite, Refusal } from "./node-write.ts";

/** A node may not choose its labels and taints: that would draw other workloads to it. */
export function refuseNodeWrite(nodeName: string, write: NodeWrite): Refusal {
  const who = `node ${JSON.stringify(nodeName)}`;
  if (write.name !== nodeName) return `${who} is not allowed to modify node ${JSON.stringify(write.name)}`;
  const node = write.object as Node | undefined;
  const oldNode = write.oldObject as Node | undefined;
  const labels = forbiddenLabels(node?.metadata.labels, oldNode?.metadata.labels);
  if (write.operation === "CREATE") {
    if (node?.spec?.configSource) return `${who} is not allowed to create pods with a non-nil configSource`;
    if (labels.length > 0) return `${who} is not allowed to set the following labels: ${labels.join(", ")}`;
  }
  if (write.operation === "UPDATE") {
    const source = node?.spec?.configSource;
    if (source && !isDeepStrictEqual(source, oldNode?.spec?.configSource)) {
      return `${who} is not allowed to update configSource to a new non-nil configSource`;
    }
    if (!sameList(node?.spec?.taints, oldNode?.spec?.taints)) return `${who} is not allowed to modify taints`;
    if (!sameList(node?.metadata.ownerReferences, oldNode?.metadata.ownerReferences)) {
      return `${who} is not allowed to modify ownerReferences`;
    }
    if (labels.length > 0) return `is not allowed to modify labels: ${labels.join(", ")}`;
  }
  return undefined;
}

/** No list and an empty one are the same. */
function sameList(a: readonly unknown[] = [], b: readonly unknown[] = []): boolean {
  return isDeepStrictEqual(a, b);
}

type Labels = Readonly<Record<string, string>>;

function forbiddenLabels(labels: Labels = {}, oldLabels: Labels = {}): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(oldLabels)]);
  return [...keys].filter((key) => labels[key] !== oldLabels[key] && !mayNodeSet(key)).sort();
}

const kubeletLabels = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);

/** Labels of Kubernetes itself are not for nodes to set, but for a few; other people's are no concern of ours. */
function mayNodeSet(key: string): boolean {
  const domain = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  if (isWithin(domain, "node-restriction.kubernetes.io")) return false;
  if (!isWithin(domain, "kubernetes.io") && !isWithin(domain, "k8s.io")) return true;
  return (
    kubeletLabels.has(key) ||
    isWithin(domain, "kubelet.kubernetes.io") ||
    isWithin(domain, "node.kubernetes.io")
  );
}

function isWithin(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}
