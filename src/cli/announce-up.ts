import type { Up } from "../cluster/up.ts";

interface Circumstances {
  readonly ephemeral: boolean;
  readonly temporary: boolean;
  /** No containers stand behind its pods. */
  readonly simulated: boolean;
  readonly warning?: string;
  /** Who typed sudo: the kubeconfig is root's, and kubectl is theirs. */
  readonly sudoUser?: string;
  readonly hasKubectl: boolean;
}

/** What a person reads when the cluster is there: where it is, how to reach it, how it ends. */
export function announceUp(
  {
    url,
    kubeconfig,
    nodes,
    merged,
    dashboard,
  }: Pick<Up, "url" | "kubeconfig" | "merged" | "dashboard"> & {
    readonly nodes: readonly Pick<Up["nodes"][number], "name" | "runtime">[];
  },
  how: Circumstances,
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
  ];
  if (how.sudoUser)
    lines.push(
      `That file is root's. For ${how.sudoUser}: sudo install -m 600 -o ${how.sudoUser} ${kubeconfig} ~/kindling.kubeconfig && export KUBECONFIG=~/kindling.kubeconfig`,
      "",
    );
  if (!how.hasKubectl)
    lines.push("There is no kubectl here: https://kubernetes.io/docs/tasks/tools has it.", "");
  if (merged) {
    const use = merged.current ? "kubectl uses it by itself" : `kubectl --context ${merged.context}`;
    lines.push(`${merged.into} has it as the context ${merged.context}: ${use}.`);
  }
  if (dashboard) lines.push(`Dashboard  ${dashboard}`, "");
  lines.push(endOf(how));
  return `${lines.join("\n")}\n`;
}

function endOf({ ephemeral, temporary, simulated }: Circumstances): string {
  if (temporary) return `Ctrl-C stops it, and with it ${simulated ? "" : "its containers and "}its data.`;
  if (simulated) return "Ctrl-C stops it; the data stays.";
  if (ephemeral) return "Ctrl-C stops it, and with it its containers.";
  return "Ctrl-C stops it; the data stays and containers go on running.";
}

/** Whoever became root by sudo, by a name that can stand in a command. */
export function sudoUserOf({ SUDO_USER: name }: { readonly SUDO_USER?: string }): string | undefined {
  return name !== undefined && name !== "root" && /^[A-Za-z_][\w.-]*$/.test(name) ? name : undefined;
}
