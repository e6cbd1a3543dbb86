import type { Container, ObjectMeta, Pod, PodSpec } from "../../../src/api/meta/objects.ts";

/** Fields that differ from the defaults of `makePodSpec`. */
export interface PodSpecFields extends Partial<PodSpec> {
  /** Fields of the only container. Ignored when `containers` is set. */
  readonly container?: Partial<Container>;
}

export interface PodFields extends PodSpecFields {
  readonly metadata?: ObjectMeta;
}

/** Fields that undo the shortcuts of `makePodSpec`, for pods as users write them: with a token and cluster DNS. */
export const userPod = { automountServiceAccountToken: true, dnsPolicy: "ClusterFirst" } as const;

/** Returns a pod that needs nothing but its image. */
export function makePod(name: string, { metadata, ...spec }: PodFields = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...metadata },
    spec: makePodSpec(spec),
  };
}

/** Returns the spec of a pod with one container, no token and a grace period of one second. */
export function makePodSpec({ container, ...spec }: PodSpecFields = {}): PodSpec {
  return {
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    dnsPolicy: "Default",
    containers: [{ name: "c", image: "web:1", ...container }],
    ...spec,
  };
}
