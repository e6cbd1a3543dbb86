import type { Command } from "commander";
import type { Features } from "../../api/feature-gates.ts";
import { createAccountClients } from "../../controllers/account-clients.ts";
import { runControllers } from "../../controllers/controller-manager.ts";
import { featureGatesOption } from "../feature-gates-option.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../metrics-options.ts";
import { runComponent } from "../run-component.ts";
import { UsageError } from "../usage-error.ts";

type ControllerManagerFlags = MetricsFlags &
  Parameters<typeof loggerOf>[0] & {
    kubeconfig?: string;
    featureGates: Features;
    leaderElect: boolean;
    leaderElectLease: string;
    dryRun?: boolean;
    useServiceAccountCredentials: boolean;
  };

const examples = `
Examples:
  kindling controller-manager --kubeconfig ~/.kindling/kubeconfig
  kindling controller-manager --kubeconfig admin.conf --metrics-listen 127.0.0.1:10252
  kindling controller-manager --metrics-listen 0.0.0.0:10257      in a pod: by HTTPS, to those who may get /metrics
  kindling controller-manager --kubeconfig controller-manager.kubeconfig --use-service-account-credentials
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
    .option(
      "--use-service-account-credentials",
      "let each controller act as its own service account in kube-system, with the rights of that one; accounts that are missing are made",
      false,
    )
    .option("--dry-run", "say what would be done, and do nothing");
  addMetricsOptions(command).addHelpText("after", examples).action(runControllerManager);
}

async function runControllerManager(flags: ControllerManagerFlags): Promise<void> {
  const { kubeconfig, featureGates: features, dryRun = false, useServiceAccountCredentials } = flags;
  if (dryRun && useServiceAccountCredentials)
    throw new UsageError(
      "--use-service-account-credentials makes accounts, and --dry-run does nothing: leave one of them out",
    );
  const userAgent = "kindling-controller-manager";
  const metricsServing = await readMetricsServing(flags);
  const logger = loggerOf(flags).component("controllers");
  // To hold a lease is to write: a dry run only looks on.
  const lease = dryRun || !flags.leaderElect ? undefined : flags.leaderElectLease;
  await runComponent(
    { kubeconfig, userAgent, lease, metricsServing, logger },
    async ({ access, open, ...deps }, signal) => {
      process.stdout.write(
        dryRun ? "controllers are running, without doing anything\n" : "controllers are running\n",
      );
      const accounts = useServiceAccountCredentials
        ? createAccountClients({ ...deps, access, open, userAgent })
        : undefined;
      const parts = { ...deps, clientAs: accounts?.clientAs, features, rootCa: access.tls.ca, dryRun };
      await runControllers(parts, signal).finally(() => accounts?.close());
    },
  );
}
