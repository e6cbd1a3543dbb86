import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Features } from "../../api/meta/feature-gates.ts";
import { runControllers } from "../../controllers/controller-manager.ts";
import { createAccountClients } from "../../controllers/shared/account-clients.ts";
import {
  type ControllerName,
  controllerNames,
  parseControllers,
  upstreamLease,
} from "../../controllers/shared/controller-names.ts";
import { messageOf } from "../../lib/message-of.ts";
import { UsageError } from "../options/command-errors.ts";
import { featureGatesOption } from "../options/common-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../options/metrics-options.ts";
import { runComponent } from "../run/run-component.ts";

type ControllerManagerFlags = MetricsFlags &
  Parameters<typeof loggerOf>[0] & {
    kubeconfig?: string;
    featureGates: Features;
    leaderElect: boolean;
    leaderElectLease?: string;
    ignoreUpstreamLease: boolean;
    controllers: ReadonlySet<ControllerName>;
    dryRun?: boolean;
    useServiceAccountCredentials: boolean;
    localVolumesDir?: string;
  };

const examples = `
Examples:
  kindling controller-manager --kubeconfig ~/.kindling/kubeconfig
  kindling controller-manager --kubeconfig admin.conf --metrics-listen 127.0.0.1:10252
  kindling controller-manager --metrics-listen 0.0.0.0:10257      in a pod: HTTPS, for users who may get /metrics
  kindling controller-manager --kubeconfig controller-manager.kubeconfig --use-service-account-credentials
  kindling controller-manager --kubeconfig admin.conf --dry-run
  kindling controller-manager --kubeconfig admin.conf --controllers statefulset-controller --ignore-upstream-lease
                                        beside a kube-controller-manager --controllers=*,-statefulset-controller`;

const controllersOption = () =>
  new Option(
    "--controllers <list>",
    "controllers to run: * enables all, foo enables foo, -foo disables foo; names as in kube-controller-manager",
  )
    .argParser(readControllers)
    .default(new Set(controllerNames), "*");

function readControllers(text: string): ReadonlySet<ControllerName> {
  try {
    return parseControllers(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

export function configure(command: Command): void {
  addLogOptions(command)
    .option(
      "--kubeconfig <file>",
      "kubeconfig of the API server (default: the cluster that this pod runs in)",
    )
    .addOption(featureGatesOption())
    .addOption(controllersOption())
    .option(
      "--no-leader-elect",
      `do not hold a lease; controllers still wait while another process holds the lease ${upstreamLease}`,
    )
    .option(
      "--leader-elect-lease <name>",
      `lease in kube-system for leader election among controller managers, held in addition to ${upstreamLease} (default: only ${upstreamLease})`,
    )
    .option(
      "--ignore-upstream-lease",
      `run controllers even while another controller manager holds the lease ${upstreamLease}; use it with --controllers, so that no controller runs twice`,
      false,
    )
    .option(
      "--use-service-account-credentials",
      "run each controller as its own service account in kube-system; missing service accounts are created",
      false,
    )
    .option(
      "--local-volumes-dir <dir>",
      "provision volumes of the default StorageClass in this directory; every node must be on this machine",
    )
    .option("--dry-run", "log what would be done without changing anything");
  addMetricsOptions(command).addHelpText("after", examples).action(runControllerManager);
}

async function runControllerManager(flags: ControllerManagerFlags): Promise<void> {
  const { kubeconfig, featureGates: features, controllers: enabled } = flags;
  const { dryRun = false, useServiceAccountCredentials } = flags;
  if (dryRun && useServiceAccountCredentials)
    throw new UsageError(
      "--use-service-account-credentials creates service accounts, which --dry-run does not allow: omit one of them",
    );
  const userAgent = "kindling-controller-manager";
  const metricsServing = await readMetricsServing(flags);
  const logger = loggerOf(flags).component("controllers");
  const leases = decideLeases({ ...flags, dryRun });
  const onOtherHolder = (lease: string, holder: string) => logger.warn(describeOtherHolder(lease, holder));
  await runComponent(
    { kubeconfig, userAgent, ...leases, onOtherHolder, metricsServing, logger },
    async ({ access, open, ...deps }, signal) => {
      process.stdout.write(
        dryRun ? "controllers are running (dry run: nothing is changed)\n" : "controllers are running\n",
      );
      const accounts = useServiceAccountCredentials
        ? createAccountClients({ ...deps, access, open, userAgent })
        : undefined;
      const parts = {
        ...deps,
        clientAs: accounts?.clientAs,
        features,
        enabled,
        rootCa: access.tls.ca,
        ...(flags.localVolumesDir && { localVolumes: { directory: resolve(flags.localVolumesDir) } }),
        dryRun,
      };
      await runControllers(parts, signal).finally(() => accounts?.close());
    },
  );
}

/** Lease of Kindling's controller managers that run beside kube-controller-manager. */
const ownLease = "kindling-controller-manager";

export interface LeaseFlags {
  readonly leaderElect: boolean;
  readonly leaderElectLease?: string;
  readonly ignoreUpstreamLease: boolean;
  readonly dryRun: boolean;
}

interface ControllerLeases {
  /** Leases to hold while controllers run, acquired in this order. */
  readonly leases: readonly string[];
  /** Lease that no other process may hold while controllers run. */
  readonly unclaimedLease?: string;
}

/**
 * Decides which leases a controller manager holds. Two managers without a common lease would undo each other's work, so
 * a manager always holds upstream's lease too; without leader election it checks that no other process holds it.
 */
export function decideLeases(flags: LeaseFlags): ControllerLeases {
  const { leaderElect, ignoreUpstreamLease, dryRun } = flags;
  // Holding a lease means writing to the API, which a dry run does not do.
  if (dryRun) return { leases: [] };
  if (!leaderElect) return { leases: [], ...(!ignoreUpstreamLease && { unclaimedLease: upstreamLease }) };
  const lease = flags.leaderElectLease ?? (ignoreUpstreamLease ? ownLease : upstreamLease);
  if (ignoreUpstreamLease && lease === upstreamLease)
    throw new UsageError(
      `--ignore-upstream-lease cannot be used with the lease ${upstreamLease}: omit --leader-elect-lease or name another lease`,
    );
  return { leases: ignoreUpstreamLease || lease === upstreamLease ? [lease] : [lease, upstreamLease] };
}

/** Log message while another process holds the lease. */
export function describeOtherHolder(lease: string, holder: string): string {
  const held = `controllers do not run: ${holder} holds the lease kube-system/${lease}`;
  if (lease !== upstreamLease) return `${held}; they start when it is released or no longer renewed`;
  return (
    `${held}, so another controller manager is active. They start when it is released or no longer renewed. ` +
    "To run both, disable in the other manager the controllers that this one should run, " +
    "list them here with --controllers, and add --ignore-upstream-lease"
  );
}
