import type { Pod, Volume } from "../../api/objects.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Mounter } from "./mounter.ts";

/** What the kubelet knows of its own node. */
export interface NodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** What it takes to make a volume on the node. */
export interface VolumeDeps {
  readonly mounter: Mounter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly node: () => NodeFacts;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly volume: Volume;
  /** `<podsDir>/<uid>`. */
  readonly podDir: string;
  readonly signal: AbortSignal;
}

/** A name that stays one name in a path. The API allows no other; a file with a static pod may say anything. */
export function safeName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/.test(name)) throw new Error(`"${name}" is not a valid name`);
  return name;
}

/** Where a volume of a kind lives, by upstream's name of the kind: `empty-dir`. */
export function volumeDirectory(podDir: string, kind: string, name: string): string {
  return `${podDir}/volumes/kubernetes.io~${kind}/${safeName(name)}`;
}

/** Where it is noted that a volume has been made, for what must not be done again after a restart. */
export function markerDirectory(podDir: string, kind: string, name: string): string {
  return `${podDir}/plugins/kubernetes.io~${kind}/${safeName(name)}`;
}
