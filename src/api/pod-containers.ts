import type { Container, PodSpec } from "./objects.ts";

/** Those that a pod was made with: the init containers first. */
export function containersOf(spec: PodSpec | undefined): Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

type AnyContainer = Pick<Container, "name" | "tty" | "volumeMounts" | "volumeDevices">;

/** Also those that somebody added to look inside. */
export function allContainersOf(spec: PodSpec | undefined): readonly AnyContainer[] {
  return [...containersOf(spec), ...(spec?.ephemeralContainers ?? [])];
}

export function findContainer(spec: PodSpec | undefined, name: string): Container | undefined {
  return containersOf(spec).find((container) => container.name === name);
}
