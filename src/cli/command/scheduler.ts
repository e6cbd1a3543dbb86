import type { Command } from "commander";
import { createScheduler } from "../../scheduler/scheduler.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../metrics-options.ts";
import { runComponent } from "../run-component.ts";

type SchedulerFlags = MetricsFlags &
  Parameters<typeof loggerOf>[0] & {
    kubeconfig?: string;
    schedulerName: string;
    leaderElect: boolean;
  };

const examples = `
Examples:
  kindling scheduler --kubeconfig scheduler.kubeconfig
  kindling scheduler --kubeconfig scheduler.kubeconfig --leader-elect --metrics-listen 127.0.0.1:10251
  kindling scheduler --kubeconfig scheduler.kubeconfig --scheduler-name second-scheduler`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option("--kubeconfig <file>", "the API server; without it, that of the cluster this runs in")
    .option("--scheduler-name <name>", "the spec.schedulerName of its pods", "default-scheduler")
    .option("--leader-elect", "schedule only while holding the lease kube-system/kube-scheduler", false);
  addMetricsOptions(command).addHelpText("after", examples).action(runScheduler);
}

async function runScheduler(flags: SchedulerFlags): Promise<void> {
  const { kubeconfig, schedulerName, leaderElect } = flags;
  const metricsServing = await readMetricsServing(flags);
  const logger = loggerOf(flags).component("scheduler");
  const lease = leaderElect ? "kube-scheduler" : undefined;
  await runComponent(
    { kubeconfig, userAgent: "kindling-scheduler", lease, metricsServing, logger },
    (deps, signal) => createScheduler({ ...deps, schedulerName }).run(signal),
  );
}
