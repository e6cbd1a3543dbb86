import type { FieldError } from "../meta/field-errors.ts";
import type { Container, Pod, PodSpec } from "../meta/objects.ts";
import { defaultPod } from "./defaults/pod.ts";

/** For tests: valid pod with defaults and the given spec fields. */
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

/** For tests: valid pod with one container with the given fields. */
export function makePodWith(container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod {
  return makePod({ ...spec, containers: [{ name: "web", image: "nginx:1.25", ...container }] });
}

/** Formats errors as in messages. */
export function sentences(errors: readonly FieldError[]): string[] {
  return errors.map(({ field, message }) => `${field}: ${message}`);
}
