import type { Command } from "commander";
import { component, runConditionsController } from "../../conditions/conditions-controller.ts";
import type { CommandContext } from "../options/command-context.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../options/metrics-options.ts";
import { runComponent } from "../run/run-component.ts";
import { addClusterOptions, loadControllerAccess } from "../run/user-access.ts";

type ConditionsFlags = MetricsFlags & Parameters<typeof loggerOf>[0];

const examples = `
Examples:
  kindling conditions --kubeconfig ~/.kube/config
  kindling conditions --metrics-listen 127.0.0.1:10261
  kubectl wait pod/web --for=condition=FailingToStart --timeout=60s`;

export function configure(command: Command, context: CommandContext): void {
  addLogOptions(addClusterOptions(command, context));
  addMetricsOptions(command).addHelpText("after", examples).action(runConditions);
}

async function runConditions(flags: ConditionsFlags, command: Command): Promise<void> {
  const logger = loggerOf(flags).component("conditions");
  await runComponent(
    {
      access: await loadControllerAccess(command),
      userAgent: component,
      leases: [component],
      metricsServing: await readMetricsServing(flags),
      logger,
    },
    async ({ client, clock, metrics }, signal) => {
      process.stdout.write("conditions is running\n");
      await runConditionsController({ client, clock, logger, metrics }, signal);
    },
  );
}
