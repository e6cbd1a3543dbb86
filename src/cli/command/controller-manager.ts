import type { Command } from "commander";
import type { Features } from "../../api/feature-gates.ts";
import { runControllers } from "../../controllers/controller-manager.ts";
import { featureGatesOption } from "../feature-gates-option.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../metrics-options.ts";
import { runComponent } from "../run-component.ts";

type ControllerManagerFlags = MetricsFlags &
  Parameters<typeof loggerOf>[0] & {
    kubeconfig?: string;
    featureGates: Features;
    leaderElect: boolean;
    leaderElectLease: string;
    dryRun?: boolean;
  };

const examples = `
Examples:
  kindling controller-manager --kubeconfig ~/.kindling/kubeconfig
  kindling controller-manager --kubeconfig admin.conf --metrics-listen 127.0.0.1:10252
  kindling controller-manager --metrics-listen 0.0.0.0:10257      in a pod: by HTTPS, to those who may get /metrics
  kindling controller-manager --kubeconfig admin.conf --dry-run`;

export function configure(command: Command): void {
  addLogOptions(command)
    .option("--kubeconfig <file>", "the API server; without it, that of the cluster this runs in")
    .addOption(featureGatesOption())
    .option("--no-leader-elect", "work without asking whether another one does")
    .option(
      "--leader-elect-lease <name>",
      "the lease in kube-system that those who share the work hold",
      "kube-controller-manager",
    )
    .option("--dry-run", "say what would be done, and do nothing");
  addMetricsOptions(command).addHelpText("after", examples).action(runControllerManager);
}

async function runControllerManager(flags: ControllerManagerFlags): Promise<void> {
  const { kubeconfig, featureGates: features, dryRun = false } = flags;
  const metricsServing = await readMetricsServing(flags);
  const logger = loggerOf(flags).component("controllers");
  // To hold a lease is to write: a dry run only looks on.
  const lease = dryRun || !flags.leaderElect ? undefined : flags.leaderElectLease;
  await runComponent(
    { kubeconfig, userAgent: "kindling-controller-manager", lease, metricsServing, logger },
    async ({ ca, ...deps }, signal) => {
      process.stdout.write(
        dryRun ? "controllers are running, without doing anything\n" : "controllers are running\n",
      );
      await runControllers({ ...deps, features, rootCa: ca, dryRun }, signal);
    },
  );
}
