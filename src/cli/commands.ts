import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import type { CommandContext, ProgramName } from "./options/command-context.ts";

interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Loads the command's module. Only the command that runs is loaded. */
  load(): Promise<CommandModule>;
}

interface CommandModule {
  /** Adds options, examples and the action. */
  configure(command: Command, context: CommandContext): void;
}

/** Every command of `kindling`, in the order that help shows them. */
export const commands: readonly CommandEntry[] = [
  {
    name: "up",
    summary: "start a cluster in one process",
    load: () => import("./commands/up.ts"),
  },
  {
    name: "status",
    summary: "show whether a cluster is running, and its nodes and pods",
    load: () => import("./commands/status.ts"),
  },
  {
    name: "down",
    summary: "stop a cluster, and on request its containers",
    load: () => import("./commands/down.ts"),
  },
  {
    name: "reset",
    summary: "stop a cluster and remove all its data from this machine",
    load: () => import("./commands/reset.ts"),
  },
  {
    name: "apiserver",
    summary: "run only the API server",
    load: () => import("./commands/apiserver.ts"),
  },
  {
    name: "scheduler",
    summary: "run only the scheduler, with any API server",
    load: () => import("./commands/scheduler.ts"),
  },
  {
    name: "controller-manager",
    summary: "run only the controllers, with any API server",
    load: () => import("./commands/controller-manager.ts"),
  },
  {
    name: "kubelet",
    summary: "run only the kubelet, with any CRI runtime and any API server",
    load: () => import("./commands/kubelet.ts"),
  },
  {
    name: "proxy",
    summary: "run only the service proxy of a node, with any API server",
    load: () => import("./commands/proxy.ts"),
  },
  {
    name: "runtime",
    summary: "run only the container runtime (CRI), or import and build images",
    load: () => import("./commands/runtime.ts"),
  },
  {
    name: "dns",
    summary: "run only the DNS server of a cluster, with any API server",
    load: () => import("./commands/dns.ts"),
  },
  {
    name: "monitor",
    summary: "measure and show how pods start, in any cluster",
    load: () => import("./commands/monitor.ts"),
  },
  {
    name: "why",
    summary: "show what a pod or workload is waiting for, and how to fix it",
    load: () => import("./commands/why.ts"),
  },
  {
    name: "rollout",
    summary: "wait for the rollout of a StatefulSet or Deployment",
    load: () => import("./commands/rollout.ts"),
  },
  {
    name: "recover",
    summary: "continue StatefulSet rollouts that a broken pod blocks, in any cluster",
    load: () => import("./commands/recover.ts"),
  },
  {
    name: "conditions",
    summary: "write the condition FailingToStart to pods whose kubelet does not, in any cluster",
    load: () => import("./commands/conditions.ts"),
  },
  {
    name: "node-agent",
    summary: "report the progress of image pulls by containerd, beside any kubelet",
    load: () => import("./commands/node-agent.ts"),
  },
  {
    name: "pull",
    summary: "pull an image through CRI and show the progress",
    load: () => import("./commands/pull.ts"),
  },
  {
    name: "tour",
    summary: "demonstrate the five features in about a minute",
    load: () => import("./commands/tour.ts"),
  },
  {
    name: "features",
    summary: "list feature gates with their stage and state",
    load: () => import("./commands/features.ts"),
  },
  {
    name: "completion",
    summary: "print a shell completion script",
    load: () => import("./commands/completion.ts"),
  },
];

/** Creates the command tree. Only `wanted` commands are loaded, which shortens the start. */
export async function buildProgram(
  wanted: (name: string) => boolean,
  programName: ProgramName = "kindling",
): Promise<Command> {
  const program = new Command(programName)
    .description("A Kubernetes control plane and node that shows how every pod starts.")
    .version(packageJson.version, "-v, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show the help of a command")
    .showHelpAfterError("(add --help for the options)")
    .addHelpText("after", examples)
    .exitOverride();
  if (programName !== "kindling") program.configureOutput(renamedOutput(programName));
  const context: CommandContext = {
    programName,
    wholeProgram: () => buildProgram(() => true, programName),
  };
  for (const entry of commands) {
    const command = program.command(entry.name).summary(entry.summary).description(entry.summary);
    command.exitOverride().copyInheritedSettings(program);
    if (wanted(entry.name)) (await entry.load()).configure(command, context);
  }
  return program;
}

const examples = `
Examples:
  kindling up                    start a cluster
  kindling up --help             list the options of a cluster
  kindling why web-0             show what a pod is waiting for
  kindling status                show whether the cluster is running
  kindling reset                 remove all data`;

/** Output whose examples have the name that the user has typed. */
function renamedOutput(programName: ProgramName) {
  const rename = (text: string) => text.replaceAll(/^( *)kindling /gm, `$1${programName} `);
  return {
    writeOut: (text: string) => void process.stdout.write(rename(text)),
    writeErr: (text: string) => void process.stderr.write(rename(text)),
  };
}
