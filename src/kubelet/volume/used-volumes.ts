import type { Pod, Volume } from "../../api/objects.ts";
import { allContainersOf } from "../../api/pod-containers.ts";

/** The volumes that some container mounts: nothing is made, and nothing can fail, for the others. */
export function usedVolumes(pod: Pod): Volume[] {
  const names = new Set<string>();
  for (const { volumeMounts = [], volumeDevices = [] } of allContainersOf(pod.spec)) {
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
