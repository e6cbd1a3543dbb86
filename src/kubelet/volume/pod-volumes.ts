import type { Pod } from "../../api/objects.ts";

/** Volumes of a pod that stand on the node: volume name to absolute host path. */
export type MountedVolumes = ReadonlyMap<string, MountedVolume>;

export interface MountedVolume {
  readonly hostPath: string;
  /** Whatever the mount says: config maps, secrets, downward API. */
  readonly readOnly: boolean;
}

export interface PodVolumes {
  /**
   * Makes every volume of the pod, or what is missing of them; the same again is cheap. Throws a StartError
   * (`FailedMount`) with upstream's text for each volume that cannot be made, after it has tried all of them.
   * `onGathered` is called, before the end, once nothing of it can be missing any more: objects and claims are there,
   * and what is left to be done is mounting and writing.
   */
  setUp(pod: Pod, signal: AbortSignal, onGathered?: () => void): Promise<MountedVolumes>;
  /**
   * Brings what stands of config maps, secrets, downward API and tokens up to date, atomically, and follows it from then
   * on: also what a kubelet before this one has made. Nothing is made.
   */
  refresh(pod: Pod, signal: AbortSignal): Promise<void>;
  /** Unmounts and removes all that the pod had, never what a hostPath or a claim points to. */
  tearDown(podUid: string): Promise<void>;
  /** Pods that have volumes on disk: what a kubelet that was killed left behind. */
  podsOnDisk(): Promise<readonly string[]>;
  /** The host path of a path inside a volume, made if missing, that cannot lead out of the volume by symbolic links. */
  resolveSubPath(volume: MountedVolume, subPath: string, podUid: string): Promise<string>;
  /** Called with a pod's uid when an object its volumes come from has changed. */
  onChange(handler: (podUid: string) => void): void;
}
