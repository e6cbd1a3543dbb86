import type { Container, PodSpec } from "../objects.ts";
import { type PodFacts, validateContainer, validateHostPorts, validateRestartRules } from "./container.ts";
import { validateLifecycle, validateProbes } from "./probe.ts";
import type { Report } from "./report.ts";

/** Containers by their sort: the main ones, those that run before, and those added for a look inside. */
export function validateAllContainers(spec: PodSpec, at: Report, pod: PodFacts): void {
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

function validateHandlers(container: Container, at: Report, pod: PodFacts): void {
  if (container.lifecycle) validateLifecycle(container.lifecycle, at.child("lifecycle"), pod);
  validateProbes(container, at);
}

/** An init container that restarts always is a sidecar: it runs on beside the main ones and is probed as they are. */
function validateInitContainer(container: Container, at: Report, pod: PodFacts): void {
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
  at: Report,
  { pod, names }: { pod: PodFacts; names: Set<string> },
): void {
  const targets = new Set(names);
  at.each("ephemeralContainers", containers, (container, place) => {
    validateContainer(container, place, pod);
    validateImage(container, place);
    if (names.has(container.name ?? "")) place.duplicate("name", container.name ?? "");
    names.add(container.name ?? "");
    const target = container.targetContainerName;
    if (target && !targets.has(target)) place.notFound("targetContainerName", target);
    const refuse = (field: string) => place.forbidden(field, "cannot be set for an Ephemeral Container");
    for (const field of notForEphemeral) if (!isUnset(container[field])) refuse(field);
    container.volumeMounts?.forEach(({ subPath, subPathExpr }, i) => {
      if (subPath) refuse(`volumeMounts[${i}].subPath`);
      if (subPathExpr) refuse(`volumeMounts[${i}].subPathExpr`);
    });
  });
}

function isUnset(value: unknown): boolean {
  return (
    value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0)
  );
}

/** Pods themselves are strict here; templates are not. */
export function validateImage({ image = "" }: Container, at: Report): void {
  if (image.trim() !== image) at.invalid("image", image, "must not have leading or trailing whitespace");
}
