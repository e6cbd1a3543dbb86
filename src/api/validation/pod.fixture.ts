import { defaultPod } from "../defaults/pod.ts";
import type { FieldError } from "../field-error.ts";
import type { Container, Pod, PodSpec } from "../objects.ts";

/** For tests: a pod that is valid and has its defaults, with some of its spec changed. */
export function makePod(spec: Partial<PodSpec> = {}): Pod {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "default" },
    spec: { containers: [{ name: "web", image: "nginx:1.25" }], ...spec },
  };
  defaultPod(pod);
  return pod;
}

/** The same, with its only container changed. */
export function makePodWith(container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod {
  return makePod({ ...spec, containers: [{ name: "web", image: "nginx:1.25", ...container }] });
}

/** Errors as people see them. */
export function sentences(errors: readonly FieldError[]): string[] {
  return errors.map(({ field, message }) => `${field}: ${message}`);
}
