/** What we say about fields that are ours, by definition and field. */
const ours: Readonly<Record<string, string>> = {
  "apps.v1.StatefulSetUpdateStrategy type":
    "How pods are brought to a new revision: RollingUpdate (the default) waits for each pod to be ready before it goes on to the next; OnDelete waits for pods to be deleted; EnforcedRollingUpdate (feature gate EnforcedRollingUpdateInStatefulSet) also replaces pods of an old revision that are not ready.",
};

/** The client package describes no fields that refer to another definition. For the most asked of these: */
const byName: Readonly<Record<string, string>> = {
  affinity: "Where the pod may or should run, by nodes and by other pods.",
  lifecycle: "What to do right after the container has started and right before it is stopped.",
  livenessProbe: "Checks that the container still works; it is restarted when the probe fails.",
  metadata: "Name, labels, annotations, owners and what else all objects have.",
  readinessProbe: "Checks that the container can take requests; services leave it out while the probe fails.",
  resources: "How much of each resource is asked for, and how much there may be at most.",
  securityContext: "Users, privileges and other security settings.",
  selector: "Which objects are meant, by their labels.",
  spec: "What is wanted.",
  startupProbe:
    "Checks that the application in the container has started; the other probes wait until it has succeeded once.",
  status: "What is, as far as it is known. Written by the system.",
  template: "What the objects to be made look like.",
  updateStrategy: "How pods are brought to a new revision.",
};

export function overridingDescription(definition: string, field: string): string | undefined {
  return ours[`${definition} ${field}`];
}

export function fallbackDescription(field: string): string | undefined {
  return Object.hasOwn(byName, field) ? byName[field] : undefined;
}
