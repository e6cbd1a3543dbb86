import type { Up } from "../cluster/up.ts";

/** What a person reads when the cluster is there: where it is, how to reach it, how it ends. */
export function announceUp(
  {
    url,
    kubeconfig,
    nodes,
    merged,
    dashboard,
  }: Pick<Up, "url" | "kubeconfig" | "nodes" | "merged" | "dashboard">,
  how: { readonly ephemeral: boolean; readonly temporary: boolean; readonly warning?: string },
): string {
  const [first] = nodes;
  const what =
    nodes.length === 1 ? `${first?.name} (${first?.runtime})` : `${nodes.length} nodes (${first?.runtime})`;
  const lines = [
    `The cluster is up at ${url} with ${what}`,
    ...(how.warning ? [how.warning] : []),
    "",
    `  export KUBECONFIG=${kubeconfig}`,
    "  kubectl get pods --all-namespaces",
    "",
    ...(dashboard ? [`Dashboard  ${dashboard}`, ""] : []),
  ];
  if (merged) {
    const use = merged.current ? "kubectl uses it by itself" : `kubectl --context ${merged.context}`;
    lines.push(`${merged.into} has it as the context ${merged.context}: ${use}.`);
  }
  lines.push(endOf(how));
  return `${lines.join("\n")}\n`;
}

function endOf({
  ephemeral,
  temporary,
}: {
  readonly ephemeral: boolean;
  readonly temporary: boolean;
}): string {
  if (temporary) return "Ctrl-C stops it, and with it its containers and its data.";
  if (ephemeral) return "Ctrl-C stops it, and with it its containers.";
  return "Ctrl-C stops it; the data stays and containers go on running.";
}
