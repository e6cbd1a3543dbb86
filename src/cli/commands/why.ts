import type { Command } from "commander";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { TransportError } from "../../client/transport/transport.ts";
import { systemClock } from "../../lib/clock.ts";
import type { CommandContext } from "../options/command-context.ts";
import { UsageError } from "../options/command-errors.ts";
import { outputOption } from "../options/common-options.ts";
import { createRedraw, type ScreenOptions, wantsColor } from "../printer/terminal-text.ts";
import { formatListJson, renderWhyList } from "../printer/why-list.ts";
import { formatWhyJson, renderWhy } from "../printer/why-screen.ts";
import { findNearby, parseTarget, suggestTarget, type Target } from "../run/parse-target.ts";
import { untilStopped } from "../run/until-stopped.ts";
import { addAccessOptions, openUserClient } from "../run/user-access.ts";
import { createTargetViewer, isOver, type ListSelection, viewList } from "../run/view-target.ts";

interface WhyFlags {
  allNamespaces: boolean;
  selector?: string;
  watch: boolean;
  output: "table" | "json";
}

const examples = `
Examples:
  kindling why
  kindling why -A -l app=web
  kindling why web-0
  kindling why web-0 -n shop --watch
  kindling why statefulset/web
  kindling why deployment/web
  kindling why web-0 -o json
  kindling why web-0 --kubeconfig ~/.kube/config`;

const refreshMs = 1_000;

export function configure(command: Command, context: CommandContext): void {
  addAccessOptions(command, context)
    .argument(
      "[pod]",
      "pod; or statefulset/NAME, deployment/NAME, replicaset/NAME, daemonset/NAME, job/NAME or cronjob/NAME with the pod that blocks it; without it, all pods that are not ready",
    )
    .option("-A, --all-namespaces", "list the pods of all namespaces that are not ready", false)
    .option("-l, --selector <selector>", "list the pods with these labels that are not ready: app=web")
    .option("-w, --watch", "update every second until the pod is ready", false)
    .addOption(outputOption())
    .addHelpText("after", examples)
    .action(runWhy);
}

async function runWhy(text: string | undefined, flags: WhyFlags, command: Command): Promise<void> {
  if (text !== undefined && (flags.allNamespaces || flags.selector !== undefined))
    throw new UsageError(`${text}: --all-namespaces and --selector list pods; omit the name`);
  const target = text === undefined ? undefined : parseTarget(text);
  const { client, namespace } = await openUserClient(command, "kindling-why");
  const selected = {
    namespace: flags.allNamespaces ? undefined : namespace,
    labelSelector: flags.selector,
  };
  const read = target
    ? readTarget(client, { ...target, namespace })
    : (signal: AbortSignal) => readList(client, selected, signal);
  try {
    await untilStopped((signal) =>
      show(read, flags, signal).catch(async (error: unknown) => {
        throw await explainFailure(error, { client, target: target && { ...target, namespace }, signal });
      }),
    );
  } finally {
    client.close();
  }
}

/** One reading of the cluster, in both output formats. */
interface Reading {
  render(options: ScreenOptions & { readonly isTerminal: boolean }): string[];
  json(): string;
  /** Whether there is nothing left to wait for. */
  readonly isOver: boolean;
}

type Read = (signal: AbortSignal) => Promise<Reading>;

function readTarget(client: Client, target: Target & { namespace: string }): Read {
  const viewTarget = createTargetViewer(client, target);
  return async (signal) => {
    const view = await viewTarget(signal);
    return {
      render: (options) => renderWhy(view, options),
      json: () => formatWhyJson(view),
      isOver: isOver(view),
    };
  };
}

async function readList(client: Client, selection: ListSelection, signal: AbortSignal): Promise<Reading> {
  const list = await viewList(client, selection, signal);
  return {
    render: (options) => renderWhyList(list, options),
    json: () => formatListJson(list),
    isOver: list.rows.length === 0,
  };
}

/** Adds what to do next to an error, if that is known. */
async function explainFailure(
  error: unknown,
  at: { client: Client; target: (Target & { namespace: string }) | undefined; signal: AbortSignal },
): Promise<unknown> {
  const { client, target, signal } = at;
  if (error instanceof TransportError)
    return new Error(
      `${error.message}; is the cluster running? Start one with kindling up, or set --kubeconfig`,
      { cause: error },
    );
  if (!target || !(error instanceof StatusError) || error.reason !== "NotFound") return error;
  const there = await findNearby(client, target, signal);
  return new Error(suggestTarget(target, target.namespace, there), { cause: error });
}

async function show(read: Read, { watch, output }: WhyFlags, signal: AbortSignal): Promise<void> {
  const { stdout } = process;
  const inPlace = watch && stdout.isTTY ? createRedraw(stdout) : undefined;
  let lines: readonly string[] = [];
  for (;;) {
    const reading = await read(signal).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      // Keep watching while the API server is unavailable.
      if (!inPlace || lines.length === 0 || !(error instanceof TransportError)) throw error;
      inPlace.draw([...lines, "", "  The cluster does not respond; this is the last known state."]);
      return undefined;
    });
    if (reading) {
      const screen = { columns: stdout.columns || 100, color: wantsColor(stdout), isTerminal: stdout.isTTY };
      lines = reading.render(screen);
      if (output === "json") stdout.write(reading.json());
      else if (inPlace) inPlace.draw(lines);
      else stdout.write(`${lines.join("\n")}\n`);
      if (!watch || reading.isOver) return;
    }
    await systemClock.sleep(refreshMs, signal).catch(() => {});
    if (signal.aborted) return;
  }
}
