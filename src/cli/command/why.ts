import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { StatusError } from "../../api/status-error.ts";
import type { Client } from "../../client/client.ts";
import { type ClusterAccess, loadKubeconfig } from "../../client/cluster-access.ts";
import { createClient } from "../../client/create-client.ts";
import { createHttpTransport } from "../../client/http-transport.ts";
import { KubeconfigError } from "../../client/kubeconfig.ts";
import { TransportError } from "../../client/transport.ts";
import { systemClock } from "../../lib/clock.ts";
import { explainPod } from "../../monitor/explain/explain-pod.ts";
import { explainStatefulSet } from "../../monitor/explain/explain-stateful-set.ts";
import { gatherFacts, gatherSet } from "../../monitor/explain/gather-facts.ts";
import { waterfall } from "../../monitor/explain/waterfall.ts";
import { findNearby } from "../find-nearby.ts";
import { loadGivenAccess } from "../load-access.ts";
import { outputOption } from "../output-option.ts";
import { createRedraw } from "../printer/redraw.ts";
import { wantsColor } from "../printer/terminal-text.ts";
import { formatWhyJson } from "../printer/why-json.ts";
import { renderWhy, type SetView, type WhyView } from "../printer/why-screen.ts";
import { suggestTarget, type Target } from "../suggest-target.ts";
import { untilStopped } from "../until-stopped.ts";
import { UsageError } from "../usage-error.ts";

interface WhyFlags {
  namespace?: string;
  kubeconfig: string;
  context?: string;
  watch: boolean;
  output: "table" | "json";
}

const examples = `
Examples:
  kindling why web-0
  kindling why web-0 -n shop --watch
  kindling why statefulset/web
  kindling why web-0 -o json
  kindling why web-0 --kubeconfig ~/.kube/config`;

const lookAgainMs = 1_000;

export function configure(command: Command): void {
  command
    .argument("<pod>", "a pod, or statefulset/NAME for a set and the pod that holds it up")
    .option("-n, --namespace <namespace>", "where it is; unless told, where the context says, or default")
    .addOption(
      new Option("--kubeconfig <file>", "the cluster: Kindling's or any other")
        .env("KUBECONFIG")
        .default(defaultKubeconfig(), "~/.kindling/kubeconfig where there is one, else ~/.kube/config"),
    )
    .option("--context <name>", "the context of the kubeconfig; the current one unless told")
    .option("-w, --watch", "look again every second, until it is ready", false)
    .addOption(outputOption())
    .addHelpText("after", examples)
    .action(runWhy);
}

/** Kindling's own where there is one, else kubectl's. */
function defaultKubeconfig(): string {
  const own = join(homedir(), ".kindling", "kubeconfig");
  const kubectls = join(homedir(), ".kube", "config");
  return !existsSync(own) && existsSync(kubectls) ? kubectls : own;
}

/** A file that nobody has named may be missing: then there is no cluster yet. */
async function loadDefaultAccess({ kubeconfig, context }: WhyFlags): Promise<ClusterAccess> {
  return loadKubeconfig(kubeconfig, { context }).catch((error: unknown) => {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new Error(`${error.message}; kindling up makes one, and --kubeconfig names another`, {
      cause: error,
    });
  });
}

async function runWhy(target: string, flags: WhyFlags, command: Command): Promise<void> {
  const wanted = parseTarget(target);
  const { kubeconfig, context } = flags;
  const source = command.getOptionValueSource("kubeconfig");
  const namedBy = source === "env" ? "KUBECONFIG" : "--kubeconfig";
  const access = await (source === "default"
    ? loadDefaultAccess(flags)
    : loadGivenAccess(kubeconfig, { context, namedBy }));
  const namespace = flags.namespace ?? access.namespace ?? "default";
  const client = createClient({ transport: createHttpTransport({ access }), userAgent: "kindling-why" });
  try {
    await untilStopped((signal) =>
      show(client, { ...flags, wanted, namespace }, signal).catch(async (error: unknown) => {
        throw await explainFailure(error, { client, target: { ...wanted, namespace }, signal });
      }),
    );
  } finally {
    client.close();
  }
}

/** With what to do next, where that is known. */
async function explainFailure(
  error: unknown,
  at: { client: Client; target: Target & { namespace: string }; signal: AbortSignal },
): Promise<unknown> {
  const { client, target, signal } = at;
  if (error instanceof TransportError)
    return new Error(
      `${error.message}; is the cluster running? kindling up starts Kindling's own, --kubeconfig names another`,
      { cause: error },
    );
  if (!(error instanceof StatusError) || error.reason !== "NotFound") return error;
  const there = await findNearby(client, target, signal);
  return new Error(suggestTarget(target, target.namespace, there), { cause: error });
}

function parseTarget(text: string): Target {
  const [first = "", second, ...rest] = text.split("/");
  if (second === undefined) return { kind: "pod", name: first };
  if (rest.length === 0 && second !== "") {
    if (/^(po|pods?)$/i.test(first)) return { kind: "pod", name: second };
    if (/^(sts|statefulsets?)$/i.test(first)) return { kind: "statefulset", name: second };
  }
  throw new UsageError(`${text}: name a pod (web-0 or pod/web-0) or a StatefulSet (statefulset/web)`);
}

async function show(
  client: Client,
  { wanted, namespace, watch, output }: WhyFlags & { wanted: Target; namespace: string },
  signal: AbortSignal,
): Promise<void> {
  const { stdout } = process;
  const inPlace = watch && stdout.isTTY ? createRedraw(stdout) : undefined;
  let lines: readonly string[] = [];
  for (;;) {
    const view = await look(client, { ...wanted, namespace }, signal).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      // An API server that is away for a while does not end a watch on it.
      if (!inPlace || lines.length === 0 || !(error instanceof TransportError)) throw error;
      inPlace.draw([...lines, "", "  The cluster does not answer; this is how it was."]);
      return undefined;
    });
    if (view) {
      lines = renderWhy(view, { columns: stdout.columns || 100, color: wantsColor(stdout) });
      if (output === "json") stdout.write(formatWhyJson(view));
      else if (inPlace) inPlace.draw(lines);
      else stdout.write(`${lines.join("\n")}\n`);
      if (!watch || isOver(view)) return;
    }
    await systemClock.sleep(lookAgainMs, signal).catch(() => {});
    if (signal.aborted) return;
  }
}

/** A pod, or a StatefulSet with the pod that holds it up. */
async function look(
  client: Client,
  { kind, namespace, name }: Target & { namespace: string },
  signal: AbortSignal,
): Promise<WhyView> {
  if (kind === "pod") return { pod: await lookAtPod(client, { namespace, name }, signal) };
  const { set, pods } = await gatherSet(client, { namespace, name }, signal);
  const explanation = explainStatefulSet(set, pods);
  const { holdUp } = explanation;
  return {
    set: { namespace, name, explanation },
    ...(holdUp !== undefined && { pod: await lookAtPod(client, { namespace, name: holdUp }, signal) }),
  };
}

async function lookAtPod(client: Client, key: { namespace: string; name: string }, signal: AbortSignal) {
  const facts = await gatherFacts({ client, clock: systemClock }, key, signal);
  return { facts, explanation: explainPod(facts), spans: waterfall(facts.pod, facts) };
}

function isOver({ pod, set }: WhyView): boolean {
  if (set) return isComplete(set);
  return pod?.explanation.stage === "ready" || pod?.explanation.stage === "ended";
}

function isComplete({ explanation: { replicas, ready, updated } }: SetView): boolean {
  return ready >= replicas && updated >= replicas;
}
