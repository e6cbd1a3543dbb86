import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { dnsLabelProblems, portNameProblems, portNumberProblems } from "../../meta/names.ts";
import type { Container, PodSpec, Volume } from "../../meta/objects.ts";
import { validateEnvFrom, validateEnvVar } from "./env.ts";
import { validateLifecycle, validateProbes } from "./probe.ts";
import { validateResourceRequirements } from "./resources.ts";
import { validateContainerSecurityContext } from "./security-context.ts";
import { pullPolicies, validateMounts } from "./volume.ts";

/** Properties of the pod that container validation depends on. */
export interface ContainerContext {
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
  readonly gracePeriodSeconds: number;
  readonly restartPolicy: string | undefined;
  readonly hostUsers: boolean;
  readonly os: string | undefined;
}

/** Validates the fields that containers of all types have. */
function validateContainer(container: Container, at: FieldErrors, pod: ContainerContext): void {
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

function validatePorts(ports: k8s.V1ContainerPort[], at: FieldErrors): void {
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

/** Rejects duplicate host ports of containers that run at the same time. */
function validateHostPorts({ ports }: Container, at: FieldErrors, taken: Set<string>): void {
  at.each("ports", ports, ({ protocol, hostIP = "", hostPort }, port) => {
    if (!hostPort) return;
    const address = `${protocol}/${hostIP}/${hostPort}`;
    if (taken.has(address)) port.duplicate("hostPort", address);
    taken.add(address);
  });
}

function validateResizePolicy(
  policies: k8s.V1ContainerResizePolicy[],
  at: FieldErrors,
  { restartPolicy: podRestartPolicy }: ContainerContext,
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

/** Validates the restart policy and restart rules of a container. */
function validateRestartRules(container: Container, at: FieldErrors): void {
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

/** Validates main, init and ephemeral containers. */
export function validateAllContainers(spec: PodSpec, at: FieldErrors, pod: ContainerContext): void {
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  if (!spec.containers?.length) at.required("containers");
  at.each("containers", spec.containers, (container, place) => {
    validateContainer(container, place, pod);
    if (names.has(container.name ?? "")) place.duplicate("name", container.name ?? "");
    names.add(container.name ?? "");
    validateHandlers(container, place, pod);
    validateRestartRules(container, place);
    validateHostPorts(container, place, hostPorts);
  });

  at.each("initContainers", spec.initContainers, (container, place) => {
    validateInitContainer(container, place, pod);
    if (names.has(container.name ?? "")) place.duplicate("name", container.name ?? "");
    names.add(container.name ?? "");
  });
  if (spec.ephemeralContainers) validateEphemeralContainers(spec.ephemeralContainers, at, { pod, names });
}

function validateHandlers(container: Container, at: FieldErrors, pod: ContainerContext): void {
  if (container.lifecycle) validateLifecycle(container.lifecycle, at.child("lifecycle"), pod);
  validateProbes(container, at);
}

/** Validates an init container. With restart policy Always it is a sidecar, which may have probes. */
function validateInitContainer(container: Container, at: FieldErrors, pod: ContainerContext): void {
  validateContainer(container, at, pod);
  validateRestartRules(container, at);
  validateHostPorts(container, at, new Set());
  if (container.restartPolicy === "Always") {
    validateHandlers(container, at, pod);
    return;
  }
  for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
    if (container[field]) {
      at.forbidden(field, "may not be set for init containers without restartPolicy=Always");
    }
  }
  container.resizePolicy?.forEach(({ restartPolicy }, i) => {
    if (restartPolicy !== "RestartContainer") return;
    const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    at.invalid(`resizePolicy[${i}].restartPolicy`, restartPolicy, detail);
  });
}

const notForEphemeral = [
  "ports",
  "resources",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
] as const satisfies readonly (keyof Container)[];

function validateEphemeralContainers(
  containers: NonNullable<PodSpec["ephemeralContainers"]>,
  at: FieldErrors,
  { pod, names }: { pod: ContainerContext; names: Set<string> },
): void {
  const targets = new Set(names);
  at.each("ephemeralContainers", containers, (container, place) => {
    validateContainer(container, place, pod);
    validateImage(container, place);
    if (names.has(container.name ?? "")) place.duplicate("name", container.name ?? "");
    names.add(container.name ?? "");
    const target = container.targetContainerName;
    if (target && !targets.has(target)) place.notFound("targetContainerName", target);
    const reject = (field: string) => place.forbidden(field, "cannot be set for an Ephemeral Container");
    for (const field of notForEphemeral) if (!isUnset(container[field])) reject(field);
    container.volumeMounts?.forEach(({ subPath, subPathExpr }, i) => {
      if (subPath) reject(`volumeMounts[${i}].subPath`);
      if (subPathExpr) reject(`volumeMounts[${i}].subPathExpr`);
    });
  });
}

function isUnset(value: unknown): boolean {
  return (
    value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0)
  );
}

/** Validates the image name, which is required in pods but not in templates. */
export function validateImage({ image = "" }: Container, at: FieldErrors): void {
  if (image.trim() !== image) at.invalid("image", image, "must not have leading or trailing whitespace");
}
