import type { PodTemplate } from "../defaults/pod-template.ts";
import type { FieldError } from "../field-error.ts";
import type { Pod, PodSpec } from "../objects.ts";
import { validateImage } from "./containers.ts";
import { validateLabels } from "./labels.ts";
import { validateAnnotations } from "./metadata.ts";
import { validatePodAnnotations, validateProfilesAgree } from "./pod-annotations.ts";
import { validatePodSpec } from "./pod-spec.ts";
import { Report } from "./report.ts";

const noSpec: PodSpec = { containers: [] };

export function validatePod(pod: Pod): FieldError[] {
  const { spec = noSpec } = pod;
  const errors = validatePodContent(pod);
  const at = new Report("spec", errors);
  if (spec.ephemeralContainers?.length) at.forbidden("ephemeralContainers", "cannot be set on create");
  if (spec.nodeName && spec.schedulingGates?.length) {
    at.forbidden("nodeName", "cannot be set until all schedulingGates have been cleared");
  }
  if (pod.metadata.annotations) validateProfilesAgree(pod.metadata.annotations, spec, at);
  return errors;
}

/** What must hold after a create and after every update. */
export function validatePodContent({ metadata, spec = noSpec }: Pod): FieldError[] {
  const at = new Report("spec");
  if (metadata.annotations) {
    validatePodAnnotations(metadata.annotations, new Report("metadata.annotations", at.errors), spec);
  }
  validatePodSpec(spec, at, metadata);
  if (!spec.serviceAccountName) validateNoTokens(spec, at);
  at.nonNegative("terminationGracePeriodSeconds", spec.terminationGracePeriodSeconds);
  at.each("containers", spec.containers, validateImage);
  at.each("initContainers", spec.initContainers, validateImage);
  return at.errors;
}

function validateNoTokens(spec: PodSpec, at: Report): void {
  spec.volumes?.forEach(({ projected }, i) => {
    projected?.sources?.forEach((source, j) => {
      if (!source.serviceAccountToken) return;
      const field = `volumes[${i}].projected.sources[${j}].serviceAccountToken`;
      at.forbidden(field, "must not be specified when serviceAccountName is not set");
    });
  });
}

export function validatePodTemplate(template: PodTemplate, at: Report): void {
  const { metadata = {}, spec = noSpec } = template;
  validateLabels(metadata.labels, at.child("labels"));
  validateAnnotations(metadata.annotations, at.child("annotations"));
  const place = at.child("spec");
  if (metadata.annotations) validatePodAnnotations(metadata.annotations, at.child("annotations"), spec);
  validatePodSpec(spec, place);
  if (metadata.annotations) validateProfilesAgree(metadata.annotations, spec, place);
  if (spec.ephemeralContainers?.length) {
    place.forbidden("ephemeralContainers", "ephemeral containers not allowed in pod template");
  }
}
