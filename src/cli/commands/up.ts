import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { usersKubeconfig } from "../../client/kubeconfig/merge-kubeconfig.ts";
import type { RuntimeChoice } from "../../cluster/data-dir/data-dir-files.ts";
import { checkContainers } from "../../cluster/host/check-containers.ts";
import type { ServiceProxyOptions } from "../../cluster/parts/service-proxy.ts";
import { startUp, type Up, type UpOptions } from "../../cluster/up.ts";
import { findProgram } from "../../runtime/drivers/find-program.ts";
import { UsageError } from "../options/command-errors.ts";
import {
  adoptSandboxesOption,
  clusterDomainOption,
  nodePortAddressesOption,
} from "../options/common-options.ts";
import {
  type DashboardChoice,
  dashboardOption,
  type NodeSections,
  readUpConfig,
} from "../options/up-config.ts";
import { addControlPlaneOptions, type ControlPlaneFlags, runControlPlane } from "../run/run-control-plane.ts";

const examples = `
Examples:
  kindling up
  kindling up --data-dir ./cluster --listen 127.0.0.1:0
  kindling up --ephemeral
  kindling up --merge-kubeconfig --set-context
  kindling up --nodeport-addresses 192.168.0.0/16
  kindling up --config kindling.yaml
  kindling up --runtime unix:///run/containerd/containerd.sock
  kindling up --nodes 100 --runtime simulated --store memory`;

type UpFlags = ControlPlaneFlags & {
  runtime: RuntimeChoice;
  nodes: number;
  ephemeral: boolean;
  adoptSandboxes: boolean;
  mergeKubeconfig?: string | true;
  setContext: boolean;
  dashboard: DashboardChoice;
  serviceProxy: ServiceProxyOptions["backend"];
  dns: boolean;
  clusterDomain: string;
  nodeportAddresses?: readonly string[];
  config?: string;
};

export function configure(command: Command): void {
  addControlPlaneOptions(command)
    .addOption(
      new Option(
        "--runtime <runtime>",
        "container runtime: auto, oci (runc or crun), host (only util-linux), simulated (no containers), or unix:///path of a CRI socket",
      )
        .argParser(parseRuntime)
        .default({ kind: "own", driver: "auto" } satisfies RuntimeChoice, "auto"),
    )
    .addOption(
      new Option("--nodes <count>", "number of nodes; more than one needs --runtime simulated")
        .argParser(parseCount)
        .default(1),
    )
    .option(
      "--ephemeral",
      "delete containers and data on exit; objects are kept in memory and data in a temporary directory by default",
      false,
    )
    .addOption(adoptSandboxesOption())
    .option(
      "--merge-kubeconfig [file]",
      "also merge the cluster into this kubeconfig (default: $KUBECONFIG or ~/.kube/config)",
    )
    .option("--set-context", "with --merge-kubeconfig: make the cluster kubectl's current context", false)
    .addOption(dashboardOption())
    .option("--no-dns", "run no DNS server for the names of services and pods")
    .addOption(clusterDomainOption())
    .addOption(
      new Option(
        "--service-proxy <backend>",
        "what makes services reachable: nftables (packet rules of the kernel), userspace (a process that relays connections; only iproute2), auto (nftables if it works here) or off",
      )
        .choices(["auto", "nftables", "userspace", "off"])
        .default("auto"),
    )
    .addOption(
      nodePortAddressesOption(
        "ranges of this machine's addresses at which other machines reach node ports and load balancers (default: only this machine and its pods reach them)",
      ),
    )
    .option("--config <file>", "YAML file with these options and those of the kubelet and the runtime")
    .addHelpText("after", examples)
    .action((_flags, self: Command) => runUp(self));
}

async function runUp(command: Command): Promise<void> {
  const sections = await readUpConfig(command);
  const flags: UpFlags = command.opts();
  checkFlags(flags, sections);
  const problem = flags.runtime.kind === "own" ? await checkContainers(flags.runtime.driver) : undefined;
  if (problem?.fatal) throw new Error(problem.sentence);
  const isDefault = (name: string) => command.getOptionValueSource(name) === "default";
  const temporary = flags.ephemeral && isDefault("dataDir");
  const chosen: UpFlags = {
    ...flags,
    ...(temporary && { dataDir: join(tmpdir(), `kindling-${randomBytes(8).toString("hex")}`) }),
    ...(flags.ephemeral && isDefault("store") && { store: "memory" }),
  };
  const { runtime, nodes, ephemeral, adoptSandboxes } = chosen;
  const page = chosen.dashboard === "off" ? {} : { dashboard: chosen.dashboard };
  const merge = mergeOf(flags);
  await runControlPlane(
    chosen,
    (options) =>
      startUp({
        ...options,
        runtime,
        nodes,
        ephemeral,
        adoptSandboxes,
        temporary,
        ...(chosen.dns && { dns: { clusterDomain: chosen.clusterDomain } }),
        serviceProxy: { backend: chosen.serviceProxy, nodePortRanges: chosen.nodeportAddresses },
        ...page,
        ...sections,
        ...(merge && { merge }),
      }),
    (up) =>
      announceUp(up, {
        ephemeral,
        temporary,
        simulated: runtime.kind === "simulated",
        hasKubectl: findProgram("kubectl") !== undefined,
        ...(process.getuid?.() === 0 && { sudoUser: sudoUserOf(process.env) }),
        ...(problem && { warning: problem.sentence }),
      }),
  );
}

function checkFlags(
  { nodes, runtime, mergeKubeconfig, setContext }: UpFlags,
  { kubeletConfig }: NodeSections,
): void {
  if (nodes > 1 && runtime.kind !== "simulated") {
    throw new UsageError(
      `--nodes ${nodes} needs --runtime simulated: with containers, the machine is one node`,
    );
  }
  if (nodes > 1 && kubeletConfig && kubeletConfig.port !== 0) {
    throw new UsageError(`kubeletConfig.port must be 0 with ${nodes} nodes: each kubelet needs its own port`);
  }
  if (setContext && mergeKubeconfig === undefined) {
    throw new UsageError(
      "--set-context needs --merge-kubeconfig: otherwise there is no kubeconfig to change",
    );
  }
  if (runtime.kind === "own" && process.getuid?.() !== 0) {
    throw new UsageError(
      "containers need root: use sudo, or --runtime simulated for a cluster without containers",
    );
  }
}

function mergeOf({ mergeKubeconfig, setContext }: UpFlags): UpOptions["merge"] {
  if (mergeKubeconfig === undefined) return undefined;
  const file = mergeKubeconfig === true ? usersKubeconfig(process.env.KUBECONFIG) : mergeKubeconfig;
  return { into: resolve(file), makeCurrent: setContext };
}

function parseRuntime(text: string): RuntimeChoice {
  if (text === "auto" || text === "oci" || text === "host") return { kind: "own", driver: text };
  if (text === "simulated") return { kind: "simulated" };
  if (text.startsWith("unix://")) return { kind: "endpoint", endpoint: text };
  throw new InvalidArgumentError("must be auto, oci, host, simulated or unix:///path/to/cri.sock");
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 5_000) return count;
  throw new InvalidArgumentError("must be a whole number from 1 to 5000");
}

interface Circumstances {
  readonly ephemeral: boolean;
  readonly temporary: boolean;
  /** Pods have no containers. */
  readonly simulated: boolean;
  readonly warning?: string;
  /** User who called sudo. The kubeconfig belongs to root, so this user needs a copy. */
  readonly sudoUser?: string;
  readonly hasKubectl: boolean;
}

/** Text that `up` prints when the cluster is ready: its address, how to use it, and what happens on exit. */
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
      `The kubeconfig belongs to root. For ${how.sudoUser}: sudo install -m 600 -o ${how.sudoUser} ${kubeconfig} ~/kindling.kubeconfig && export KUBECONFIG=~/kindling.kubeconfig`,
      "",
    );
  if (!how.hasKubectl)
    lines.push("kubectl is not installed; see https://kubernetes.io/docs/tasks/tools.", "");
  if (merged) {
    const use = merged.current ? "it is the current context" : `use kubectl --context ${merged.context}`;
    lines.push(`Merged into ${merged.into} as the context ${merged.context}: ${use}.`);
  }
  if (dashboard) lines.push(`Dashboard  ${dashboard}`, "");
  lines.push(endOf(how));
  return `${lines.join("\n")}\n`;
}

function endOf({ ephemeral, temporary, simulated }: Circumstances): string {
  if (temporary)
    return `Ctrl-C stops the cluster and removes its ${simulated ? "data" : "containers and data"}.`;
  if (simulated) return "Ctrl-C stops the cluster; its data is kept.";
  if (ephemeral) return "Ctrl-C stops the cluster and its containers; its data is kept.";
  return "Ctrl-C stops the cluster; its data is kept and containers keep running.";
}

/** Name of the user who became root by sudo, if it can be used in a command. */
export function sudoUserOf({ SUDO_USER: name }: { readonly SUDO_USER?: string }): string | undefined {
  return name !== undefined && name !== "root" && /^[A-Za-z_][\w.-]*$/.test(name) ? name : undefined;
}
