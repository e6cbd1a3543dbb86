import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { usersKubeconfig } from "../../client/edit-kubeconfig.ts";
import { checkContainers } from "../../cluster/check-containers.ts";
import type { RuntimeChoice } from "../../cluster/node.ts";
import { startUp, type UpOptions } from "../../cluster/up.ts";
import { findProgram } from "../../runtime/driver/find-program.ts";
import { announceUp, sudoUserOf } from "../announce-up.ts";
import { type DashboardChoice, dashboardOption } from "../dashboard-option.ts";
import { addControlPlaneOptions, type ControlPlaneFlags, runControlPlane } from "../run-control-plane.ts";
import { type NodeSections, readUpConfig } from "../up-config.ts";
import { UsageError } from "../usage-error.ts";

const examples = `
Examples:
  kindling up
  kindling up --data-dir ./cluster --listen 127.0.0.1:0
  kindling up --ephemeral
  kindling up --merge-kubeconfig --set-context
  kindling up --config kindling.yaml
  kindling up --runtime unix:///run/containerd/containerd.sock
  kindling up --nodes 100 --runtime simulated --store memory`;

type UpFlags = ControlPlaneFlags & {
  runtime: RuntimeChoice;
  nodes: number;
  ephemeral: boolean;
  mergeKubeconfig?: string | true;
  setContext: boolean;
  dashboard: DashboardChoice;
  config?: string;
};

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
    .option(
      "--ephemeral",
      "end the containers with it and keep nothing: objects in memory and data in a temporary directory, unless told",
      false,
    )
    .option(
      "--merge-kubeconfig [file]",
      "also put the cluster into this kubeconfig ($KUBECONFIG or ~/.kube/config unless named)",
    )
    .option("--set-context", "with --merge-kubeconfig: make it kubectl's current context", false)
    .addOption(dashboardOption())
    .option("--config <file>", "take these options, and those of kubelet and runtime, from a YAML file")
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
  const { runtime, nodes, ephemeral } = chosen;
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
        temporary,
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
    throw new UsageError(`--nodes ${nodes} needs --runtime simulated: a machine is one node`);
  }
  if (nodes > 1 && kubeletConfig && kubeletConfig.port !== 0) {
    throw new UsageError(`kubeletConfig.port must be 0 with ${nodes} nodes: each needs a port of its own`);
  }
  if (setContext && mergeKubeconfig === undefined) {
    throw new UsageError("--set-context needs --merge-kubeconfig: there is no other kubeconfig to change");
  }
  if (runtime.kind === "own" && process.getuid?.() !== 0) {
    throw new UsageError(
      "containers need root: run it with sudo, or with --runtime simulated for a cluster without containers",
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
  throw new InvalidArgumentError("choose auto, oci, host, simulated or unix:///path/to/cri.sock");
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 5_000) return count;
  throw new InvalidArgumentError("write a whole number from 1 to 5000");
}
