import type { Node } from "../../../api/objects.ts";
import type { NodeView } from "../feed-message.ts";

export function viewNode({ metadata, status }: Node, counts: Pick<NodeView, "pods" | "starting">): NodeView {
  return {
    name: metadata.name ?? "",
    ready: status?.conditions?.find(({ type }) => type === "Ready")?.status === "True",
    ...counts,
    runtime: status?.nodeInfo?.containerRuntimeVersion ?? "",
    kubelet: status?.nodeInfo?.kubeletVersion ?? "",
  };
}
