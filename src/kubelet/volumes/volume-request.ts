import type { Pod, Volume } from "../../api/meta/objects.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { Mounter } from "./mounter.ts";

/** Facts about the node that a volume depends on. */
export interface VolumeNodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Dependencies of volume setup. */
export interface VolumeDeps {
  readonly mounter: Mounter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly node: () => VolumeNodeFacts;
}

/** Volume that is set up on the node. */
export interface MountedVolume {
  readonly hostPath: string;
  /** True for volumes that containers can never write: config maps, secrets, downward API. */
  readonly readOnly: boolean;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly volume: Volume;
  /** `<podsDir>/<uid>`. */
  readonly podDir: string;
  readonly signal: AbortSignal;
}

/** Checks that a name is a single path segment. The API validates names, but static pods may contain any text. */
export function safeName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/.test(name)) throw new Error(`"${name}" is not a valid name`);
  return name;
}

/** Returns the directory of a volume, with upstream's name of its type, such as `empty-dir`. */
export function volumeDirectory(podDir: string, kind: string, name: string): string {
  return `${podDir}/volumes/kubernetes.io~${kind}/${safeName(name)}`;
}

/** Returns the directory of the marker that a volume is set up, for steps that must not be repeated after a restart. */
export function markerDirectory(podDir: string, kind: string, name: string): string {
  return `${podDir}/plugins/kubernetes.io~${kind}/${safeName(name)}`;
}

/** Error whose message is the complete text of the event, without the usual prefix. */
export class VolumeProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "VolumeProblem";
  }
}

/** Formats the event for a volume that failed. */
export function mountFailure(volumeName: string, error: unknown): string {
  const message = messageOf(error);
  if (error instanceof VolumeProblem) return message;
  return `MountVolume.SetUp failed for volume "${volumeName}" : ${message}`;
}
