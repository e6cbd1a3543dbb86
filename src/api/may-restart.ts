import type { Container, PodSpec } from "./objects.ts";

/** Whether a container that ended so is started again: by its own rules, else its own policy, else the pod's. */
export function mayRestart(container: Container, spec: PodSpec, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    const rule = container.restartPolicyRules?.find(({ exitCodes }) => {
      const listed = exitCodes?.values?.includes(exitCode) ?? false;
      return exitCodes?.operator === "NotIn" ? !listed : listed;
    });
    if (rule) return rule.action === "Restart" || rule.action === "RestartAllContainers";
  }
  // The API fills in Always; a pod from a file may come without.
  const policy = container.restartPolicy ?? spec.restartPolicy ?? "Always";
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}
