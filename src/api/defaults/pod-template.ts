import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../objects.ts";
import { defaultPodSpec } from "./pod.ts";

export type PodTemplate = Wire<k8s.V1PodTemplateSpec>;

export function defaultPodTemplate(template: PodTemplate | undefined): void {
  if (!template) return;
  template.metadata ??= {};
  template.spec ??= { containers: [] };
  defaultPodSpec(template.spec);
}
