import type { Pod } from "../../api/objects.ts";

const taints = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const seconds = 300;

/** Every pod stays for a while on a node that is in trouble, unless it says otherwise. */
export function admitDefaultTolerations(pod: Pod): void {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  for (const key of taints) {
    const said = spec.tolerations?.some(
      (toleration) =>
        (!toleration.key || toleration.key === key) &&
        (!toleration.effect || toleration.effect === "NoExecute"),
    );
    if (said) continue;
    const added = { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: seconds };
    spec.tolerations = [...(spec.tolerations ?? []), added];
  }
}
