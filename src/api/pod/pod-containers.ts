import type { Container, PodSpec } from "../meta/objects.ts";

/** Init containers and containers of a pod, in this order. */
export function containersOf(spec: PodSpec | undefined): Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

type AnyContainer = Pick<Container, "name" | "tty" | "volumeMounts" | "volumeDevices">;

/** Init, main and ephemeral containers of a pod. */
export function allContainersOf(spec: PodSpec | undefined): readonly AnyContainer[] {
  return [...containersOf(spec), ...(spec?.ephemeralContainers ?? [])];
}

export function findContainer(spec: PodSpec | undefined, name: string): Container | undefined {
  return containersOf(spec).find((container) => container.name === name);
}

/** Whether a container restarts after this exit code, by its restart rules, its restart policy or that of the pod. */
export function mayRestart(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    const rule = container.restartPolicyRules?.find(({ exitCodes }) => {
      const listed = exitCodes?.values?.includes(exitCode) ?? false;
      return exitCodes?.operator === "NotIn" ? !listed : listed;
    });
    if (rule) return rule.action === "Restart" || rule.action === "RestartAllContainers";
  }
  // The API server sets the default Always; static pods may lack it.
  const policy = container.restartPolicy ?? spec.restartPolicy ?? "Always";
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}
