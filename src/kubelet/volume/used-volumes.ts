import type { Container, Pod, Volume } from "../../api/objects.ts";

type Mounts = Pick<Container, "volumeMounts" | "volumeDevices">;

export function containersOf(pod: Pod): readonly Mounts[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers];
}

/** The volumes that some container mounts: nothing is made, and nothing can fail, for the others. */
export function usedVolumes(pod: Pod): Volume[] {
  const names = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [] } of containersOf(pod)) {
    for (const { name } of [...volumeMounts, ...volumeDevices]) names.add(name);
  }
  return (pod.spec?.volumes ?? []).filter((volume) => names.has(volume.name));
}

const notSources = new Set(["name"]);

/** Of what kind a volume is: the field that is set. Without any it is an empty directory, as upstream. */
export function volumeKind(volume: Volume): string {
  const fields = Object.entries(volume).filter(
    ([field, value]) => value !== undefined && !notSources.has(field),
  );
  return fields[0]?.[0] ?? "emptyDir";
}
