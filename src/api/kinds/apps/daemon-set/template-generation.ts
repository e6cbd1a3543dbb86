import type { DaemonSet } from "../../../meta/objects.ts";

/** Annotation in which apps/v1 keeps a number that is raised with each change of the template. */
const annotation = "deprecated.daemonset.template.generation";

/** Label of pods with the template generation that they were created from. */
export const templateGenerationLabel = "pod-template-generation";

/** Text of the annotation, if it is no number. */
export function invalidTemplateGeneration({ metadata }: DaemonSet): string | undefined {
  const text = metadata.annotations?.[annotation];
  return text === undefined || /^[+-]?\d+$/.test(text) ? undefined : text;
}

/** Template generation of a DaemonSet. Undefined if it has none that is a number. */
export function templateGenerationOf(set: DaemonSet): number | undefined {
  const text = set.metadata.annotations?.[annotation];
  return text === undefined || invalidTemplateGeneration(set) !== undefined ? undefined : Number(text);
}

export function setTemplateGeneration({ metadata }: DaemonSet, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [annotation]: `${generation}` };
}
