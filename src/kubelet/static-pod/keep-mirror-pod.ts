import { mirrorAnnotation } from "../../api/mirror-pod.ts";
import type { Node, Pod } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import { isAlreadyExists } from "../../client/status-errors.ts";
import { deletePod } from "../delete-pod.ts";
import { hashAnnotation, sourceAnnotation } from "./static-pod-annotations.ts";

export function isMirrorOf(mirror: Pod, staticPod: Pod): boolean {
  return mirror.metadata.annotations?.[mirrorAnnotation] === staticPod.metadata.annotations?.[hashAnnotation];
}

/** What the API gets to see of a static pod: the same, marked, and owned by its node. */
export function buildMirrorPod(staticPod: Pod, node: Pick<Node, "metadata">): Pod {
  const { name, namespace, labels, annotations = {} } = staticPod.metadata;
  const hash = annotations[hashAnnotation] ?? "";
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(labels && { labels }),
      annotations: { ...annotations, [sourceAnnotation]: "file", [mirrorAnnotation]: hash },
      ownerReferences: [
        {
          apiVersion: "v1",
          kind: "Node",
          name: node.metadata.name ?? "",
          uid: node.metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    ...(staticPod.spec && { spec: staticPod.spec }),
  };
}

export interface MirrorDeps {
  readonly client: Client;
  readonly node: () => Promise<Pick<Node, "metadata">>;
}

/** Creates the mirror of a static pod, and first removes one that shows an older state of the file. */
export async function keepMirrorPod(
  { client, node }: MirrorDeps,
  { staticPod, mirror, signal }: { staticPod: Pod; mirror: Pod | undefined; signal: AbortSignal },
): Promise<void> {
  if (mirror) {
    if (isMirrorOf(mirror, staticPod) && !mirror.metadata.deletionTimestamp) return;
    await deletePod(client, mirror, signal);
  }
  try {
    await client.create("pods", buildMirrorPod(staticPod, await node()), { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
