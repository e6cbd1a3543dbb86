import { defaultPod } from "../../api/defaults/pod.ts";
import type { Container, Pod, PodSpec } from "../../api/objects.ts";

/** For tests: the pod `web` with its defaults and some of its spec changed. */
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

/** The same, with its only container changed. */
export function makePodWith(
  container: Partial<Container>,
  spec: Partial<PodSpec> = {},
): { pod: Pod; container: Container } {
  const pod = makePod({ ...spec, containers: [{ name: "c", image: "nginx:1.25", ...container }] });
  const [made] = pod.spec?.containers ?? [];
  if (!made) throw new Error("the fixture has a container");
  return { pod, container: made };
}
