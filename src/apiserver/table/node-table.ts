import type { Node } from "../../api/objects.ts";
import { ageColumn, column, nameColumn, type TableLayout, wideColumn } from "./table-layout.ts";

export const nodeTable: TableLayout<Node> = {
  columns: [
    nameColumn,
    column("Status", "Whether the node is ready and takes new pods", nodeStatus),
    column("Roles", "Roles that the node's labels name", nodeRoles),
    ageColumn,
    column("Version", "Version of the kubelet", ({ status }) => status?.nodeInfo?.kubeletVersion ?? ""),
    wideColumn("Internal-IP", "Address inside the cluster", (node) => nodeAddress(node, "InternalIP")),
    wideColumn("External-IP", "Address outside the cluster", (node) => nodeAddress(node, "ExternalIP")),
    wideColumn("OS-Image", "Operating system", ({ status }) => status?.nodeInfo?.osImage || "<unknown>"),
    wideColumn("Kernel-Version", "Kernel and architecture", kernelVersion),
    wideColumn(
      "Container-Runtime",
      "Runtime that runs the containers",
      ({ status }) => status?.nodeInfo?.containerRuntimeVersion || "<unknown>",
    ),
  ],
};

function nodeStatus({ spec, status }: Node): string {
  const ready = status?.conditions?.findLast(({ type }) => type === "Ready");
  const word = ready ? (ready.status === "True" ? "Ready" : "NotReady") : "Unknown";
  return spec?.unschedulable ? `${word},SchedulingDisabled` : word;
}

const rolePrefix = "node-role.kubernetes.io/";

/** From labels `node-role.kubernetes.io/ROLE` and `kubernetes.io/role=ROLE`. */
function nodeRoles({ metadata }: Node): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length));
    else if (key === "kubernetes.io/role") roles.add(value);
  }
  roles.delete("");
  return [...roles].sort().join(",") || "<none>";
}

function nodeAddress({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? "<none>";
}

function kernelVersion({ status }: Node): string {
  const { kernelVersion, architecture } = status?.nodeInfo ?? {};
  return `${kernelVersion || "<unknown>"}${architecture ? ` (${architecture})` : ""}`;
}
