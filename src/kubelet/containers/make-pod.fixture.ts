import type { Container, Pod, PodSpec } from "../../api/meta/objects.ts";
import { defaultPod } from "../../api/pod/defaults/pod.ts";

/** Pod `web` for tests, with defaults applied. */
export function makePod(spec: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}): Pod {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "u-1", ...metadata },
    spec: { containers: [{ name: "c", image: "nginx:1.25" }], nodeName: "n1", ...spec },
  };
  defaultPod(pod);
  return pod;
}

/** Pod for tests whose only container is changed. */
export function makePodWith(
  container: Partial<Container>,
  spec: Partial<PodSpec> = {},
): { pod: Pod; container: Container } {
  const pod = makePod({ ...spec, containers: [{ name: "c", image: "nginx:1.25", ...container }] });
  const [made] = pod.spec?.containers ?? [];
  if (!made) throw new Error("the fixture has a container");
  return { pod, container: made };
}
