import { createHash } from "node:crypto";
import { parse } from "yaml";
import { defaultPod } from "../../api/defaults/pod.ts";
import type { Pod } from "../../api/objects.ts";
import { decodeBody } from "../../api/schema/decode-body.ts";
import { validateObjectMeta } from "../../api/validation/metadata.ts";
import { validatePod } from "../../api/validation/pod.ts";
import { hashAnnotation, sourceAnnotation } from "./static-pod-annotations.ts";

const podKind = { group: "", version: "v1", kind: "Pod" };

export interface StaticPodFile {
  readonly path: string;
  readonly text: string;
}

/**
 * A pod from a file on the node. Its uid comes from node, file and contents: an edited file is another pod, and a
 * kubelet that starts anew finds its own. Throws with the field that is wrong when it is not a pod.
 */
export function parseStaticPod({ path, text }: StaticPodFile, nodeName: string): Pod {
  const json = JSON.stringify(parse(text));
  const { object: pod } = decodeBody<Pod>(podKind, json, { fieldValidation: "Strict" });
  const uid = createHash("md5").update(`${nodeName}\n${path}\n${text}`).digest("hex");
  const { name = "", namespace = "default", labels, annotations } = pod.metadata ?? {};
  pod.metadata = {
    ...(labels && { labels }),
    name: `${name}-${nodeName.toLowerCase()}`,
    namespace,
    uid,
    annotations: { ...annotations, [hashAnnotation]: uid, [sourceAnnotation]: "file" },
  };
  pod.spec = { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName };
  // Nothing may keep a static pod off its node.
  pod.spec.tolerations = [...(pod.spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }];
  delete pod.status;
  defaultPod(pod);
  const rules = { namespaced: true, nameRule: "dnsSubdomain" } as const;
  const [problem] = [...validateObjectMeta(pod.metadata, rules), ...validatePod(pod)];
  if (problem) throw new Error(`${problem.field}: ${problem.message}`);
  return pod;
}
