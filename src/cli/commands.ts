import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";

interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  /** Loads the command's own file: only the command that runs is ever read. */
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
    summary: "bring up a cluster in one process",
    load: () => import("./command/up.ts"),
  },
  {
    name: "status",
    summary: "say whether a cluster runs, and what is in it",
    load: () => import("./command/status.ts"),
  },
  {
    name: "down",
    summary: "stop a cluster, and its containers on request",
    load: () => import("./command/down.ts"),
  },
  {
    name: "reset",
    summary: "stop a cluster and remove all that it has left on this machine",
    load: () => import("./command/reset.ts"),
  },
  {
    name: "apiserver",
    summary: "run the API server alone",
    load: () => import("./command/apiserver.ts"),
  },
  {
    name: "scheduler",
    summary: "run the scheduler alone, under any API server",
    load: () => import("./command/scheduler.ts"),
  },
  {
    name: "controller-manager",
    summary: "run the controllers alone, under any API server",
    load: () => import("./command/controller-manager.ts"),
  },
  {
    name: "kubelet",
    summary: "run the kubelet alone, on any CRI runtime and under any API server",
    load: () => import("./command/kubelet.ts"),
  },
  {
    name: "runtime",
    summary: "run the container runtime (CRI) alone, or give it images",
    load: () => import("./command/runtime.ts"),
  },
  {
    name: "monitor",
    summary: "measure how the pods of any cluster start, and show it",
    load: () => import("./command/monitor.ts"),
  },
  {
    name: "why",
    summary: "say what a pod waits for, and what would help",
    load: () => import("./command/why.ts"),
  },
  {
    name: "pull",
    summary: "pull an image over CRI and show how it comes along",
    load: () => import("./command/pull.ts"),
  },
  {
    name: "tour",
    summary: "show the five features live, in about a minute",
    load: () => import("./command/tour.ts"),
  },
  {
    name: "features",
    summary: "list feature gates with their stage and state",
    load: () => import("./command/features.ts"),
  },
  {
    name: "completion",
    summary: "print a script that completes commands and options in a shell",
    load: () => import("./command/completion.ts"),
  },
];
