import type { Container, Pod } from "../../api/objects.ts";

export interface ImageRequest {
  readonly pod: Pod;
  /** Init containers and sidecars too. */
  readonly container: Container;
  readonly runtimeHandler: string;
  readonly signal: AbortSignal;
}

/** Sees to it that a container's image is on the node. */
export interface ImagePuller {
  /**
   * The runtime's reference of the image. Pulls by policy, records the events. Throws a StartError, recorded already:
   * `InvalidImageName`, `ErrImageNeverPull`, `ErrImagePull`, `ImagePullBackOff` (at once, while a failed pull's
   * back-off lasts), `ImageInspectError`, `RegistryUnavailable`, `SignatureValidationFailed`. Once the signal aborts it
   * throws the signal's reason, and that is no failure: no event, no back-off.
   */
  ensureImage(request: ImageRequest): Promise<string>;
  /** Pulls that run for a pod now. */
  progress(podUid: string): readonly PullProgress[];
  /** Each change of `progress` for the pod, until the signal aborts: a snapshot first. */
  followProgress(podUid: string, signal: AbortSignal): AsyncIterable<readonly PullProgress[]>;
  /** The pod is gone: forget its back-off. */
  forget(podUid: string): void;
}

export interface PullProgress {
  readonly image: string;
  readonly container: string;
  readonly startedAt: string;
  readonly offset: number;
  /** 0 as long as it is not known. */
  readonly total: number;
  readonly layers: readonly {
    readonly digest: string;
    readonly offset: number;
    readonly total: number;
    readonly stage: string;
  }[];
}
