import type { Pod } from "../../api/objects.ts";
import { allContainersOf } from "../../api/pod-containers.ts";
import { HttpError } from "./http-error.ts";

/** The pods of this node, each with the status that the kubelet has for it now. */
export interface ServedPods {
  find(namespace: string, name: string): Pod | undefined;
  list(): Iterable<Pod>;
}

export interface ContainerPlace {
  readonly namespace: string;
  readonly pod: string;
  /** Empty when the request does not say which pod of that name it means. */
  readonly uid: string;
  readonly container: string;
}

/** `NAMESPACE/POD/CONTAINER` or `NAMESPACE/POD/UID/CONTAINER`. */
export function parseContainerPlace(segments: readonly string[]): ContainerPlace | undefined {
  const [namespace = "", pod = "", third = "", fourth] = segments;
  if (segments.length < 3 || segments.length > 4) return undefined;
  return fourth === undefined
    ? { namespace, pod, uid: "", container: third }
    : { namespace, pod, uid: third, container: fourth };
}

export function hasContainer({ spec }: Pod, container: string): boolean {
  return allContainersOf(spec).some(({ name }) => name === container);
}

/** Throws 404 for a pod that is not here. */
export function requirePod(pods: ServedPods, { namespace, pod: name, uid }: ContainerPlace): Pod {
  const pod = pods.find(namespace, name);
  if (!pod || (uid && pod.metadata.uid !== uid)) throw new HttpError(404, "pod does not exist");
  return pod;
}
