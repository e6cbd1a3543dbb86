import { type Command, InvalidArgumentError, Option } from "commander";
import { type Cluster, startCluster } from "../../cluster/cluster.ts";
import type { RuntimeChoice } from "../../cluster/node.ts";
import { addControlPlaneOptions, type ControlPlaneFlags, runControlPlane } from "../control-plane.ts";
import { UsageError } from "../usage-error.ts";

const examples = `
Examples:
  kindling up
  kindling up --data-dir ./cluster --listen 127.0.0.1:0
  kindling up --runtime unix:///run/containerd/containerd.sock
  kindling up --nodes 100 --runtime simulated --store memory`;

type UpFlags = ControlPlaneFlags & { runtime: RuntimeChoice; nodes: number };

export function configure(command: Command): void {
  addControlPlaneOptions(command)
    .addOption(
      new Option(
        "--runtime <runtime>",
        "what runs containers: auto, oci (runc), host (util-linux), simulated (nothing), or unix:///path of a CRI socket",
      )
        .argParser(parseRuntime)
        .default({ kind: "own", driver: "auto" } satisfies RuntimeChoice, "auto"),
    )
    .addOption(
      new Option("--nodes <count>", "how many nodes; more than one must be simulated")
        .argParser(parseCount)
        .default(1),
    )
    .addHelpText("after", examples)
    .action(async (flags: UpFlags) => {
      const { runtime, nodes } = flags;
      if (nodes > 1 && runtime.kind !== "simulated") {
        throw new UsageError(`--nodes ${nodes} needs --runtime simulated: a machine is one node`);
      }
      if (runtime.kind === "own" && process.getuid?.() !== 0) {
        throw new UsageError(
          "containers need root: run it with sudo, or with --runtime simulated for a cluster without containers",
        );
      }
      await runControlPlane(flags, (options) => startCluster({ ...options, runtime, nodes }), announce);
    });
}

function announce({ url, kubeconfig, nodes }: Cluster): string {
  const [first] = nodes;
  const what =
    nodes.length === 1 ? `${first?.name} (${first?.runtime})` : `${nodes.length} nodes (${first?.runtime})`;
  return `The cluster is up at ${url} with ${what}

  export KUBECONFIG=${kubeconfig}
  kubectl get pods --all-namespaces

Ctrl-C stops it; the data stays and containers go on running.
`;
}

function parseRuntime(text: string): RuntimeChoice {
  if (text === "auto" || text === "oci" || text === "host") return { kind: "own", driver: text };
  if (text === "simulated") return { kind: "simulated" };
  if (text.startsWith("unix://")) return { kind: "endpoint", endpoint: text };
  throw new InvalidArgumentError("choose auto, oci, host, simulated or unix:///path/to/cri.sock");
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 5_000) return count;
  throw new InvalidArgumentError("write a whole number from 1 to 5000");
}
