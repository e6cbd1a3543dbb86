import { readFileSync } from "node:fs";
import { unescapeOctal } from "../../../lib/mount-points.ts";

interface MountPoint {
  readonly path: string;
  readonly shared: boolean;
}

/** The mount that a path lies on; the path must be free of links. */
export function findMount(
  path: string,
  mountinfo = readFileSync("/proc/self/mountinfo", "utf8"),
): MountPoint {
  let found: MountPoint = { path: "/", shared: false };
  for (const line of mountinfo.split("\n")) {
    const [fields, rest] = line.split(" - ");
    const words = fields?.split(" ") ?? [];
    if (rest === undefined || words[4] === undefined) continue;
    const point = unescapeOctal(words[4]);
    const covers = point === "/" || path === point || path.startsWith(`${point}/`);
    // Of several mounts on one place the last one counts.
    if (covers && point.length >= found.path.length) {
      found = { path: point, shared: words.slice(6).some((option) => option.startsWith("shared:")) };
    }
  }
  return found;
}
