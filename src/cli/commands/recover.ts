import { type Command, Option } from "commander";
import { createEventRecorder } from "../../client/events/event-recorder.ts";
import { type UnstickPolicy, unstickPolicies } from "../../explain/rollout-policy.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Recovery } from "../../recover/decide-recovery.ts";
import { component } from "../../recover/evict-pod.ts";
import { runRecoverController } from "../../recover/recover-controller.ts";
import { type RecoveryStep, recoverSet } from "../../recover/recover-set.ts";
import type { CommandContext } from "../options/command-context.ts";
import { AlreadyReportedError, UsageError } from "../options/command-errors.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { addMetricsOptions, type MetricsFlags, readMetricsServing } from "../options/metrics-options.ts";
import { runComponent } from "../run/run-component.ts";
import { untilStopped } from "../run/until-stopped.ts";
import { addAccessOptions, loadControllerAccess, openUserClient } from "../run/user-access.ts";

type RecoverFlags = MetricsFlags &
  Parameters<typeof loggerOf>[0] & {
    namespace?: string;
    controller: boolean;
    dryRun: boolean;
    policy?: UnstickPolicy;
  };

const examples = `
Examples:
  kindling recover statefulset/web --dry-run         explain what would be done
  kindling recover statefulset/web -n shop           evict the pod that blocks the rollout, and wait for its replacement
  kindling recover --controller                      recover sets with the annotation kindling.dev/unstick
  kindling recover --controller --policy permanent-only --metrics-listen 127.0.0.1:10260`;

export function configure(command: Command, context: CommandContext): void {
  addAccessOptions(command, context)
    .argument("[statefulset]", "StatefulSet to recover: statefulset/NAME")
    .option(
      "--controller",
      "recover StatefulSets of the whole cluster until stopped, with leader election",
      false,
    )
    .option("--dry-run", "explain what would be done without doing it", false)
    .addOption(
      new Option(
        "--policy <policy>",
        "policy of StatefulSets without the annotation kindling.dev/unstick, in namespaces without that label (default: always for one StatefulSet, none for the controller)",
      ).choices(unstickPolicies),
    );
  addLogOptions(command);
  addMetricsOptions(command).addHelpText("after", examples).action(runRecover);
}

async function runRecover(target: string | undefined, flags: RecoverFlags, command: Command): Promise<void> {
  if (flags.controller) {
    if (target !== undefined)
      throw new UsageError("--controller recovers all StatefulSets: omit the argument or --controller");
    if (flags.namespace !== undefined)
      throw new UsageError("--controller recovers the StatefulSets of all namespaces: omit --namespace");
    if (flags.dryRun)
      throw new UsageError("--dry-run explains one StatefulSet: name one, and omit --controller");
    return runController(flags, command);
  }
  if (target === undefined)
    throw new UsageError("name a StatefulSet (statefulset/NAME), or use --controller");
  await recoverOne(parseSetName(target), flags, command);
}

function parseSetName(text: string): string {
  const [, name] = /^(?:statefulsets?|sts)(?:\.apps)?\/([^/]+)$/i.exec(text) ?? [];
  if (!name)
    throw new UsageError(`${text}: name a StatefulSet as statefulset/NAME; recover acts on no other kind`);
  return name;
}

async function runController(flags: RecoverFlags, command: Command): Promise<void> {
  const logger = loggerOf(flags).component("recover");
  await runComponent(
    {
      access: await loadControllerAccess(command),
      userAgent: component,
      leases: [component],
      metricsServing: await readMetricsServing(flags),
      logger,
    },
    async ({ client, clock, metrics }, signal) => {
      process.stdout.write("recover is running\n");
      const recorder = createEventRecorder({ client, component, clock, logger });
      const { policy } = flags;
      await Promise.all([
        recorder.run(signal),
        runRecoverController({ client, clock, logger, recorder, metrics, policy }, signal),
      ]);
    },
  );
}

async function recoverOne(name: string, { dryRun, policy }: RecoverFlags, command: Command): Promise<void> {
  const { client, namespace } = await openUserClient(command, component);
  const options = { client, clock: systemClock, dryRun, policy: policy ?? "always" } as const;
  try {
    await untilStopped(async (signal) => {
      let last: RecoveryStep | undefined;
      for await (const step of recoverSet(options, { namespace, name }, signal)) {
        process.stdout.write(`${describeStep(step, { name, dryRun })}\n`);
        last = step;
      }
      if (last?.kind === "failed" || (last?.kind === "decided" && last.decision.kind === "stuck"))
        throw new AlreadyReportedError();
    });
  } finally {
    client.close();
  }
}

function describeStep(step: RecoveryStep, at: { readonly name: string; readonly dryRun: boolean }): string {
  switch (step.kind) {
    case "decided":
      return [...(step.invalid ? [step.invalid] : []), describeDecision(step.decision, at)].join("\n");
    case "waiting":
      return `Waiting ${step.ms / 1_000} s for the StatefulSet's controller to replace pod ${step.pod.metadata.name} …`;
    case "evicted":
      return [
        ...(step.recordProblem
          ? [
              `Only an event records this eviction, which expires (after an hour by default): ${step.recordProblem}`,
            ]
          : []),
        `Evicted pod ${step.pod.metadata.name}; waiting for its replacement …`,
      ].join("\n");
    case "failed":
      return `Not recovered: ${step.message}`;
    case "recovered":
      return `Recovered: ${step.evicted} ${step.evicted === 1 ? "pod was" : "pods were"} evicted and replaced.`;
  }
}

function describeDecision(
  decision: Recovery,
  { name, dryRun }: { readonly name: string; readonly dryRun: boolean },
): string {
  switch (decision.kind) {
    case "none":
      return `StatefulSet ${name}: nothing to do: ${decision.because}.`;
    case "stuck":
      return `StatefulSet ${name} is stuck: ${decision.because}.\nNot evicted: ${decision.advice}.`;
    case "evict":
      return `StatefulSet ${name} is stuck: ${decision.because}.\n${dryRun ? "Would evict" : "Evicts"} pod ${decision.pod.metadata.name}, so that the controller creates it from the update revision.`;
  }
}
