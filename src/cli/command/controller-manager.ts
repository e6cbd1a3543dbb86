import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Command } from "commander";
import type { Features } from "../../api/feature-gates.ts";
import { loadInClusterAccess, loadKubeconfig } from "../../client/cluster-access.ts";
import { createClient } from "../../client/create-client.ts";
import { createHttpTransport } from "../../client/http-transport.ts";
import { runWhileLeader } from "../../client/leader-election.ts";
import { runControllers } from "../../controllers/controller-manager.ts";
import { systemClock } from "../../lib/clock.ts";
import { featureGatesOption } from "../feature-gates-option.ts";
import { addLogOptions, loggerOf } from "../log-options.ts";
import { untilStopped } from "../until-stopped.ts";

type ControllerManagerFlags = Parameters<typeof loggerOf>[0] & {
  kubeconfig?: string;
  featureGates: Features;
  leaderElect: boolean;
  leaderElectLease: string;
  dryRun?: boolean;
};

const examples = `
Examples:
  kindling controller-manager --kubeconfig ~/.kindling/kubeconfig
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
    .option("--dry-run", "say what would be done, and do nothing")
    .addHelpText("after", examples)
    .action(runControllerManager);
}

async function runControllerManager(flags: ControllerManagerFlags): Promise<void> {
  const { kubeconfig, featureGates: features, dryRun = false } = flags;
  const logger = loggerOf(flags).component("controllers");
  const access = await (kubeconfig === undefined ? loadInClusterAccess() : loadKubeconfig(kubeconfig));
  const client = createClient({
    transport: createHttpTransport({ access }),
    userAgent: "kindling-controller-manager",
  });
  const clock = systemClock;
  const work = async (signal: AbortSignal) => {
    process.stdout.write(
      dryRun ? "controllers are running, without doing anything\n" : "controllers are running\n",
    );
    await runControllers({ client, clock, logger, features, rootCa: access.tls.ca, dryRun }, signal);
  };
  await untilStopped(async (signal) => {
    // To hold a lease is to write: a dry run only looks on.
    if (dryRun || !flags.leaderElect) await work(signal);
    else {
      const identity = `${hostname()}_${randomUUID()}`;
      const name = flags.leaderElectLease;
      await runWhileLeader({ client, namespace: "kube-system", name, identity, clock, logger }, work, signal);
    }
    client.close();
  });
}
