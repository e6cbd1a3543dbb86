import { join } from "node:path";
import type { Pod } from "../../api/objects.ts";

/** The kubelet's own directory of a pod: volumes, the hosts file, termination messages, notes. */
export function podDirectory(dataDirectory: string, podUid: string): string {
  return join(dataDirectory, "pods", segment("metadata.uid", podUid));
}

/** Where a container's termination messages are, one file for each attempt. */
export function messagesDirectory(dataDirectory: string, podUid: string, containerName: string): string {
  return join(podDirectory(dataDirectory, podUid), "containers", segment("container name", containerName));
}

/** Where a kubelet leaves notes for the next one; see startup-notes.ts. */
export function startupNotesDirectory(
  dataDirectory: string,
  podUid: string,
  kind: "hooks" | "failures",
): string {
  return join(podDirectory(dataDirectory, podUid), "startup", kind);
}

export function startupNotePath(
  dataDirectory: string,
  podUid: string,
  [kind, containerId]: readonly ["hooks" | "failures", string],
): string {
  return join(startupNotesDirectory(dataDirectory, podUid, kind), segment("container id", containerId));
}

export function podLogDirectory(logsDirectory: string, { metadata }: Pod): string {
  const { namespace = "", name = "", uid = "" } = metadata;
  return join(logsDirectory, segment("pod", `${namespace}_${name}_${uid}`));
}

/** In the pod's log directory. */
export function containerLogPath(containerName: string, attempt: number): string {
  return join(segment("container name", containerName), `${attempt}.log`);
}

/** In a container, a path that was given without its leading slash. */
export function absolutePath(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

/** Static pods bring their own uid: none may lead out of the directory. */
function segment(field: string, name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
    throw new Error(`${field} ${JSON.stringify(name)} cannot name a directory`);
  }
  return name;
}
