import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Command } from "commander";
import { connectCluster } from "../../client/create-client.ts";
import { runWhileLeader } from "../../client/leader-election.ts";
import { systemClock } from "../../lib/clock.ts";
import { createScheduler } from "../../scheduler/scheduler.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { untilStopped } from "../until-stopped.ts";

type SchedulerFlags = Parameters<typeof loggerOf>[0] & {
  kubeconfig: string;
  schedulerName: string;
  leaderElect: boolean;
};

const examples = `
Examples:
  kindling scheduler --kubeconfig scheduler.kubeconfig
  kindling scheduler --kubeconfig scheduler.kubeconfig --leader-elect
  kindling scheduler --kubeconfig scheduler.kubeconfig --scheduler-name second-scheduler`;

export function configure(command: Command): void {
  addLogOptions(command)
    .requiredOption("--kubeconfig <file>", "the API server, and who this scheduler is there")
    .option("--scheduler-name <name>", "the spec.schedulerName of its pods", "default-scheduler")
    .option("--leader-elect", "schedule only while holding the lease kube-system/kube-scheduler", false)
    .addHelpText("after", examples)
    .action(runScheduler);
}

async function runScheduler({
  kubeconfig,
  schedulerName,
  leaderElect,
  ...flags
}: SchedulerFlags): Promise<void> {
  const logger = loggerOf(flags).component("scheduler");
  const client = await connectCluster({ kubeconfig, userAgent: "kindling-scheduler" });
  const scheduler = createScheduler({ client, schedulerName, clock: systemClock, logger });
  const election = {
    client,
    namespace: "kube-system",
    name: "kube-scheduler",
    identity: `${hostname()}_${randomUUID()}`,
    clock: systemClock,
    logger,
  };
  await untilStopped((signal) =>
    leaderElect ? runWhileLeader(election, scheduler.run, signal) : scheduler.run(signal),
  );
  client.close();
}
