import { isReady } from "../../../api/conditions.ts";
import type { Node } from "../../../api/objects.ts";
import type { NodeView } from "../feed-message.ts";

export function viewNode(node: Node, counts: Pick<NodeView, "pods" | "starting">): NodeView {
  const { nodeInfo } = node.status ?? {};
  return {
    name: node.metadata.name ?? "",
    ready: isReady(node),
    ...counts,
    runtime: nodeInfo?.containerRuntimeVersion ?? "",
    kubelet: nodeInfo?.kubeletVersion ?? "",
  };
}
