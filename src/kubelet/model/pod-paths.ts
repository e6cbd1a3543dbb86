import { join } from "node:path";
import type { Pod } from "../../api/meta/objects.ts";

/** Directory of the directories of pods. */
export function podsDirectory(dataDirectory: string): string {
  return join(dataDirectory, "pods");
}

/** Directory of the log directories of pods. */
export function logsDirectoryOf(dataDirectory: string): string {
  return join(dataDirectory, "logs");
}

/** Directory of a pod in the kubelet's data directory: volumes, hosts file, termination messages, checkpoints. */
export function podDirectory(dataDirectory: string, podUid: string): string {
  return join(podsDirectory(dataDirectory), segment("metadata.uid", podUid));
}

/** Directory of a container's termination messages, one file per attempt. */
export function messagesDirectory(dataDirectory: string, podUid: string, containerName: string): string {
  return join(podDirectory(dataDirectory, podUid), "containers", segment("container name", containerName));
}

/** Directory of checkpoints for the next kubelet; see startup-checkpoints.ts. */
export function startupCheckpointsDirectory(
  dataDirectory: string,
  podUid: string,
  kind: "hooks" | "failures",
): string {
  return join(podDirectory(dataDirectory, podUid), "startup", kind);
}

export function startupCheckpointPath(
  dataDirectory: string,
  podUid: string,
  [kind, containerId]: readonly ["hooks" | "failures", string],
): string {
  return join(startupCheckpointsDirectory(dataDirectory, podUid, kind), segment("container id", containerId));
}

export function podLogDirectory(logsDirectory: string, { metadata }: Pod): string {
  const { namespace = "", name = "", uid = "" } = metadata;
  return join(logsDirectory, segment("pod", `${namespace}_${name}_${uid}`));
}

/** UID of the pod with this log directory: namespaces and names contain no underscore. */
export function podUidOfLogs(directoryName: string): string | undefined {
  return /^[^_]+_[^_]+_(.+)$/.exec(directoryName)?.[1];
}

/** Path of a container's log relative to the pod's log directory. */
export function containerLogPath(containerName: string, attempt: number): string {
  return join(segment("container name", containerName), `${attempt}.log`);
}

/** Adds the leading slash to a path in a container. */
export function absolutePath(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

/** Checks that a name is a single path segment: UIDs of static pods are not validated by the API server. */
function segment(field: string, name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
    throw new Error(`${field} ${JSON.stringify(name)} is not a valid directory name`);
  }
  return name;
}
