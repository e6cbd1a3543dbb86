// Clauses: 3541-12
import { type Command, InvalidArgumentError } from "commander";
import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { TransportError } from "../../client/transport/transport.ts";
import {
  deploymentRollout,
  describeRolloutPod,
  type RolloutStatus,
  statefulSetRollout,
} from "../../explain/rollout-status.ts";
import { ordinalOf } from "../../explain/stateful-set-pods.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { formatGoDuration, parseGoDuration } from "../../lib/go-duration.ts";
import { gatherSet } from "../../monitor/feed/gather-workload.ts";
import type { CommandContext } from "../options/command-context.ts";
import { UsageError } from "../options/command-errors.ts";
import { createRedraw, type Output, printable } from "../printer/terminal-text.ts";
import { untilStopped } from "../run/until-stopped.ts";
import { addAccessOptions, openUserClient } from "../run/user-access.ts";

interface StatusFlags {
  /** 0 for no limit. */
  timeout: number;
  watch: string;
}

const examples = `
Examples:
  kindling rollout status statefulset/web
  kindling rollout status statefulset/web -n shop --timeout 10m
  kindling rollout status deployment/web --watch=false

Exit codes: 0 if the rollout is complete (with --watch=false also while it is under way), 1 if it failed, exceeded its
progress deadline or --timeout, 2 for an invalid command line.`;

const refreshMs = 1_000;
/** Time for which an API server may be unavailable while the rollout is watched. */
const maxOutageMs = 60_000;

export function configure(command: Command, context: CommandContext): void {
  command.addHelpText("after", examples);
  const status = command.command("status");
  addAccessOptions(status, context)
    .description("show a rollout until it is complete or has failed")
    .argument("<workload>", "statefulset/NAME with any strategy, or deployment/NAME")
    .option(
      "--timeout <duration>",
      "give up after this time: 90s, 10m; 0 waits without limit",
      parseTimeout,
      0,
    )
    .option("--watch <true|false>", "follow the rollout; false prints its state once", "true")
    .addHelpText("after", examples)
    .action(runStatus);
}

function parseTimeout(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : parseGoDuration(text);
  if (ms === undefined || ms < 0) throw new InvalidArgumentError("must be a duration such as 90s or 10m");
  return ms;
}

interface Workload {
  readonly kind: "statefulset" | "deployment";
  readonly name: string;
}

function parseWorkload(text: string): Workload {
  const [, type = "", name = ""] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (/^(sts|statefulsets?)(\.apps|\.v1\.apps)?$/i.test(type)) return { kind: "statefulset", name };
  if (/^(deploy|deployments?)(\.apps|\.v1\.apps)?$/i.test(type)) return { kind: "deployment", name };
  throw new UsageError(`${text}: name a workload as statefulset/NAME or deployment/NAME`);
}

async function runStatus(target: string, flags: StatusFlags, command: Command): Promise<void> {
  const workload = parseWorkload(target);
  if (!/^(true|false)$/.test(flags.watch)) throw new UsageError("--watch must be true or false");
  const { client, namespace } = await openUserClient(command, "kindling-rollout");
  const read = createReader(client, { ...workload, namespace });
  const options = { watch: flags.watch === "true", timeoutMs: flags.timeout };
  try {
    await untilStopped((signal) =>
      followRollout({ read, clock: systemClock, output: process.stdout }, options, signal),
    );
  } finally {
    client.close();
  }
}

/** A state of the rollout, and lines about the pods for a terminal. */
export interface RolloutView {
  readonly status: RolloutStatus;
  readonly details: readonly string[];
}

function createReader(client: Client, target: Workload & { readonly namespace: string }) {
  let last = { counts: "", since: 0 };
  return async (signal: AbortSignal): Promise<RolloutView> => {
    const { kind, name, namespace } = target;
    const key = { namespace, name };
    try {
      if (kind === "deployment")
        return { status: deploymentRollout(await client.get("deployments", key, { signal })), details: [] };
      const { set, pods } = await gatherSet(client, key, signal);
      const now = systemClock.now();
      const counts = countsOf(set);
      if (counts !== last.counts) last = { counts, since: now };
      const status = statefulSetRollout(set, { pods, unchangedSince: last.since, now });
      return { status, details: podLines(set, pods, now) };
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== "NotFound") throw error;
      throw new Error(`there is no ${kind} ${name} in the namespace ${namespace}`, { cause: error });
    }
  };
}

function countsOf({ metadata, status }: StatefulSet): string {
  const { replicas, readyReplicas, availableReplicas, updatedReplicas, currentReplicas } = status ?? {};
  return JSON.stringify([
    metadata.generation,
    replicas,
    readyReplicas,
    availableReplicas,
    updatedReplicas,
    currentReplicas,
  ]);
}

function podLines(set: StatefulSet, pods: readonly Pod[], now: number): readonly string[] {
  const rows = pods
    .toSorted((a, b) => ordinalOf(b) - ordinalOf(a))
    .map((pod) => describeRolloutPod(pod, { set, now }));
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  return rows.map(({ name, revision, state }) => `  ${name.padEnd(width)}  ${revision}  ${printable(state)}`);
}

interface FollowDeps {
  readonly read: (signal: AbortSignal) => Promise<RolloutView>;
  readonly clock: Clock;
  readonly output: Output;
}

/** Prints the rollout until it is complete. Throws if it fails, exceeds the timeout or is stopped. */
export async function followRollout(
  { read, clock, output }: FollowDeps,
  { watch, timeoutMs }: { readonly watch: boolean; readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<void> {
  const print = createPrinter(output, { watch });
  const begun = clock.now();
  let respondedAt: number | undefined;
  let state = "the cluster has not responded";
  for (;;) {
    const view = await read(signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (!(error instanceof TransportError) || respondedAt === undefined) throw error;
      if (clock.now() - respondedAt >= maxOutageMs) throw error;
      return undefined;
    });
    if (view) {
      respondedAt = clock.now();
      const { kind, message } = view.status;
      if (kind === "failed") throw new Error(message);
      print(view);
      if (kind === "complete" || !watch) return;
      state = message;
    }
    const leftMs = timeoutMs > 0 ? begun + timeoutMs - clock.now() : Number.POSITIVE_INFINITY;
    if (leftMs <= 0) throw new Error(`timed out after ${formatGoDuration(timeoutMs)} (--timeout): ${state}`);
    await clock.sleep(Math.min(refreshMs, leftMs), signal);
  }
}

/** Redraws a terminal in place. In a pipe, prints a line for each new state. */
function createPrinter(output: Output, { watch }: { readonly watch: boolean }): (view: RolloutView) => void {
  if (watch && output.isTTY) {
    const screen = createRedraw(output);
    return ({ status, details }) => screen.draw([printable(status.message), ...details]);
  }
  let last: string | undefined;
  return ({ status }) => {
    const line = printable(status.message);
    if (line !== last) output.write(`${line}\n`);
    last = line;
  };
}
