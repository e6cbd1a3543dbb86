import type * as k8s from "@kubernetes/client-node";
import { dnsLabelProblems, portNameProblems, portNumberProblems } from "../names.ts";
import type { Container } from "../objects.ts";
import { validateEnvFrom, validateEnvVar } from "./env.ts";
import type { Report } from "./report.ts";
import { validateResourceRequirements } from "./resources.ts";
import { validateContainerSecurityContext } from "./security-context.ts";
import { pullPolicies, type Volume } from "./volume.ts";
import { validateMounts } from "./volume-mount.ts";

/** What a container must fit to. */
export interface PodFacts {
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
  readonly gracePeriodSeconds: number;
  readonly restartPolicy: string | undefined;
  readonly hostUsers: boolean;
  readonly os: string | undefined;
}

/** What holds for every container of a pod, of whatever sort. */
export function validateContainer(container: Container, at: Report, pod: PodFacts): void {
  const { name, env, envFrom, ports, resources, resizePolicy, securityContext } = container;
  if (!name) at.required("name");
  else at.problems("name", name, dnsLabelProblems(name));
  if (!container.image) at.required("image");
  const policy = container.terminationMessagePolicy;
  at.requiredOneOf("terminationMessagePolicy", policy, ["File", "FallbackToLogsOnError"]);
  if (ports) validatePorts(ports, at.child("ports"));
  at.each("env", env, validateEnvVar);
  if (envFrom) validateEnvFrom(envFrom, at.child("envFrom"));
  validateMounts(container, at, pod.volumes);
  at.requiredOneOf("imagePullPolicy", container.imagePullPolicy, pullPolicies);
  if (resources) validateResourceRequirements(resources, at.child("resources"), pod);
  if (resizePolicy) validateResizePolicy(resizePolicy, at.child("resizePolicy"), pod);
  if (securityContext) validateContainerSecurityContext(securityContext, at.child("securityContext"), pod);
}

export const protocols = ["SCTP", "TCP", "UDP"];

function validatePorts(ports: k8s.V1ContainerPort[], at: Report): void {
  const names = new Set<string>();
  at.each("", ports, ({ name, containerPort, hostPort, protocol }, place) => {
    if (name) {
      const problems = portNameProblems(name);
      place.problems("name", name, problems);
      if (problems.length === 0 && names.has(name)) place.duplicate("name", name);
      names.add(name);
    }
    if (!containerPort) place.required("containerPort");
    else place.problems("containerPort", containerPort, portNumberProblems(containerPort));
    if (hostPort) place.problems("hostPort", hostPort, portNumberProblems(hostPort));
    place.requiredOneOf("protocol", protocol, protocols);
  });
}

/** No two containers that run at the same time can listen on one port of the host. */
export function validateHostPorts({ ports }: Container, at: Report, taken: Set<string>): void {
  at.each("ports", ports, ({ protocol, hostIP = "", hostPort }, port) => {
    if (!hostPort) return;
    const address = `${protocol}/${hostIP}/${hostPort}`;
    if (taken.has(address)) port.duplicate("hostPort", address);
    taken.add(address);
  });
}

function validateResizePolicy(
  policies: k8s.V1ContainerResizePolicy[],
  at: Report,
  { restartPolicy: podRestartPolicy }: PodFacts,
): void {
  const seen = new Set<string>();
  policies.forEach(({ resourceName, restartPolicy }, i) => {
    if (seen.has(resourceName)) at.duplicate(`[${i}]`, resourceName);
    seen.add(resourceName);
    at.requiredOneOf("", resourceName, ["cpu", "memory"]);
    at.requiredOneOf("", restartPolicy, ["NotRequired", "RestartContainer"]);
    if (podRestartPolicy === "Never" && restartPolicy !== "NotRequired") {
      at.invalid("", restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
  });
}

/** When a container starts again, where that differs from its pod. */
export function validateRestartRules(container: Container, at: Report): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  if (restartPolicy === undefined && rules.length > 0) {
    at.required("restartPolicy", "must specify restartPolicy when restart rules are used");
  }
  at.oneOf("restartPolicy", restartPolicy, ["Always", "Never", "OnFailure"]);
  if (rules.length > 20) at.tooMany("restartPolicyRules", rules.length, 20);
  at.each("restartPolicyRules", rules, ({ action, exitCodes }, place) => {
    place.oneOf("action", action ?? "", ["Restart", "RestartAllContainers"]);
    if (!exitCodes) return place.required("exitCodes", "must be specified");
    place.oneOf("exitCodes.operator", exitCodes.operator ?? "", ["In", "NotIn"]);
    const count = exitCodes.values?.length ?? 0;
    if (count > 255) place.tooMany("exitCodes.values", count, 255);
  });
}
