import { posix } from "node:path";
import type { Pod } from "../../api/objects.ts";
import { allContainersOf } from "../../api/pod-containers.ts";

/**
 * Directories that must be in a volume because a container mounts something else inside it: nobody can make them later
 * in a volume that is read-only. Of `/etc/app/tls` and `/etc/app/tls/ca` in `/etc/app` only the first.
 */
export function nestedMountPoints(pod: Pod, volumeName: string): string[] {
  const nested = new Set<string>();
  for (const { volumeMounts = [] } of allContainersOf(pod.spec)) {
    const points = volumeMounts.map((mount) => posix.normalize(mount.mountPath).replace(/\/+$/, "")).sort();
    for (const mount of volumeMounts) {
      if (mount.name !== volumeName) continue;
      const point = posix.normalize(mount.mountPath).replace(/\/+$/, "");
      if (point.startsWith("..")) throw new Error(`invalid container mount point ${point}`);
      for (const path of outermostBelow(points, point)) nested.add(path);
    }
  }
  return [...nested];
}

function outermostBelow(points: readonly string[], directory: string): string[] {
  const found: string[] = [];
  for (const point of points) {
    if (!point.startsWith(`${directory}/`)) continue;
    const path = point.slice(directory.length + 1);
    if (!found.some((outer) => path === outer || path.startsWith(`${outer}/`))) found.push(path);
  }
  return found;
}
