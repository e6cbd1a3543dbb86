import { isIPv4, isIPv6 } from "node:net";
import type { Pod } from "../api/meta/objects.ts";
import { canonicalIPv6 } from "../api/meta/validate-ip.ts";
import { isProtocol } from "./compile/compile-policies.ts";
import type { PolicyPod } from "./compile/rule-set.ts";

/** Addresses that the node's kubelet has given to a pod, before they are in its status. */
export interface AttachedPod {
  readonly pod: Pod;
  readonly addresses: readonly string[];
}

/**
 * Derives the facts of pods. An address belongs to one pod: to the one that the kubelet attached last, otherwise to the
 * one that was created last. The status of a pod that ended may still have an address that another pod uses.
 *
 * @param pods Pods of the API server.
 * @param attached Pods of the kubelet by uid, oldest first.
 */
export function observePods(
  pods: Iterable<Pod>,
  attached: ReadonlyMap<string, AttachedPod>,
  nodeName: string,
): PolicyPod[] {
  const found = new Map<string, AttachedPod>();
  for (const pod of pods)
    found.set(pod.metadata.uid ?? "", { pod, addresses: (pod.status?.podIPs ?? []).map(({ ip }) => ip) });
  for (const [uid, { pod, addresses }] of attached) {
    const known = found.get(uid);
    // Moved to the end, where it takes precedence. The API server has the current labels.
    found.delete(uid);
    found.set(uid, { pod: known?.pod ?? pod, addresses });
  }
  const running = [...found]
    .filter(([, { pod }]) => isFiltered(pod))
    .sort(
      ([a, one], [b, other]) =>
        Number(attached.has(a)) - Number(attached.has(b)) ||
        (attached.has(a) ? 0 : byAge(one.pod, other.pod)),
    );
  const owners = new Map<string, string>();
  const canonical = running.map(
    ([uid, { pod, addresses }]) => [uid, pod, addresses.flatMap(canonicalAddress)] as const,
  );
  for (const [uid, , addresses] of canonical) for (const address of addresses) owners.set(address, uid);
  return canonical.map(([uid, { metadata, spec }, addresses]) => ({
    namespace: metadata.namespace ?? "",
    labels: metadata.labels,
    addresses: addresses.filter((address) => owners.get(address) === uid),
    ports: portsOf(spec),
    isLocal: spec?.nodeName === nodeName,
  }));
}

/** Whether the pod has a network of its own and may still run. */
export function isFiltered({ spec, status }: Pod): boolean {
  return !spec?.hostNetwork && status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

function byAge(a: Pod, b: Pod): number {
  const [first = "", second = ""] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

function portsOf(spec: Pod["spec"]): PolicyPod["ports"] {
  // Init containers with the restart policy Always run beside the others.
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  return [...sidecars, ...(spec?.containers ?? [])].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol = "TCP", containerPort }) =>
      name && isProtocol(protocol) ? [{ name, protocol, port: containerPort }] : [],
    ),
  );
}

function canonicalAddress(text: string): string[] {
  if (isIPv4(text)) return [text];
  return isIPv6(text) && !text.includes("%") ? [canonicalIPv6(text)] : [];
}
