import { closestName } from "../../lib/closest-name.ts";

/** Upstream's name of each controller, with the older names that its `--controllers` takes as well. */
const aliases = {
  "statefulset-controller": ["statefulset"],
  "replicaset-controller": ["replicaset"],
  "deployment-controller": ["deployment"],
  "daemonset-controller": ["daemonset"],
  "job-controller": ["job"],
  "cronjob-controller": ["cronjob"],
  "ttl-after-finished-controller": ["ttl-after-finished"],
  "disruption-controller": ["disruption"],
  "pod-garbage-collector-controller": ["podgc"],
  "node-lifecycle-controller": ["nodelifecycle"],
  "taint-eviction-controller": [],
  "endpoints-controller": ["endpoint"],
  "endpointslice-controller": ["endpointslice"],
  "endpointslice-mirroring-controller": ["endpointslicemirroring"],
  "garbage-collector-controller": ["garbagecollector"],
  "namespace-controller": ["namespace"],
  "resourcequota-controller": ["resourcequota"],
  "persistentvolume-binder-controller": ["persistentvolume-binder"],
  "serviceaccount-controller": ["serviceaccount"],
} as const;

/** The lease in kube-system that upstream's kube-controller-manager holds while its controllers run. */
export const upstreamLease = "kube-controller-manager";

export type ControllerName = keyof typeof aliases;

/** All controllers, in the order in which they start. */
export const controllerNames = Object.keys(aliases) as readonly ControllerName[];

/**
 * Reads a `--controllers` list as upstream does: `*` stands for all, `foo` enables foo, `-foo` disables it, and of two
 * items about the same controller the first one counts.
 */
export function parseControllers(text: string): ReadonlySet<ControllerName> {
  const items = text.split(",").map((item) => item.trim());
  const chosen = new Map<ControllerName, boolean>();
  for (const item of items) {
    if (item === "*") continue;
    const isEnabled = !item.startsWith("-");
    const name = canonicalName(isEnabled ? item : item.slice(1));
    if (!chosen.has(name)) chosen.set(name, isEnabled);
  }
  const enabled = controllerNames.filter((name) => chosen.get(name) ?? items.includes("*"));
  if (enabled.length === 0)
    throw new Error(`${JSON.stringify(text)} enables no controller; begin with * to enable all others`);
  return new Set(enabled);
}

function canonicalName(written: string): ControllerName {
  const found = controllerNames.find(
    (name) => name === written || aliases[name].some((alias) => alias === written),
  );
  if (found) return found;
  const meant = closestName(written, controllerNames);
  throw new Error(
    `${JSON.stringify(written)} is not a controller${meant ? `; did you mean ${meant}?` : ""}; ` +
      `known controllers: ${controllerNames.join(", ")}`,
  );
}
