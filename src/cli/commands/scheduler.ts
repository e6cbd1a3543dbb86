import type { Command } from "commander";
import { createScheduler } from "../../scheduler/scheduler.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../options/metrics-options.ts";
import { runComponent } from "../run/run-component.ts";

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
    .option(
      "--kubeconfig <file>",
      "kubeconfig of the API server (default: the cluster that this pod runs in)",
    )
    .option("--scheduler-name <name>", "schedule pods with this spec.schedulerName", "default-scheduler")
    .option("--leader-elect", "schedule only while holding the lease kube-system/kube-scheduler", false);
  addMetricsOptions(command).addHelpText("after", examples).action(runScheduler);
}

async function runScheduler(flags: SchedulerFlags): Promise<void> {
  const { kubeconfig, schedulerName, leaderElect } = flags;
  const metricsServing = await readMetricsServing(flags);
  const logger = loggerOf(flags).component("scheduler");
  const leases = leaderElect ? ["kube-scheduler"] : [];
  await runComponent(
    { kubeconfig, userAgent: "kindling-scheduler", leases, metricsServing, logger },
    (deps, signal) => createScheduler({ ...deps, schedulerName }).run(signal),
  );
}
