import { homedir } from "node:os";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { Client } from "../../client/client.ts";
import { connectCluster } from "../../client/create-client.ts";
import { systemClock } from "../../lib/clock.ts";
import { explainPod } from "../../monitor/explain/explain-pod.ts";
import { findHoldUp } from "../../monitor/explain/find-hold-up.ts";
import { gatherFacts } from "../../monitor/explain/gather-facts.ts";
import { waterfall } from "../../monitor/explain/waterfall.ts";
import { outputOption } from "../output-option.ts";
import { renderWhy, type WhyView } from "../printer/why-screen.ts";
import { untilStopped } from "../until-stopped.ts";

interface WhyFlags {
  namespace: string;
  kubeconfig: string;
  watch: boolean;
  output: "table" | "json";
}

const examples = `
Examples:
  kindling why web-0
  kindling why web-0 -n shop --watch
  kindling why statefulset/web
  kindling why web-0 -o json`;

const lookAgainMs = 1_000;

export function configure(command: Command): void {
  command
    .argument("<pod>", "a pod, or statefulset/NAME for the pod that holds one up")
    .option("-n, --namespace <namespace>", "where it is", "default")
    .addOption(
      new Option("--kubeconfig <file>", "the cluster: Kindling's or any other")
        .env("KUBECONFIG")
        .default(join(homedir(), ".kindling", "kubeconfig")),
    )
    .option("-w, --watch", "look again every second, until the pod is ready", false)
    .addOption(outputOption())
    .addHelpText("after", examples)
    .action(runWhy);
}

async function runWhy(target: string, flags: WhyFlags): Promise<void> {
  const client = await connectCluster({ kubeconfig: flags.kubeconfig, userAgent: "kindling-why" });
  try {
    await untilStopped((signal) => show(client, { target, ...flags }, signal));
  } finally {
    client.close();
  }
}

async function show(
  client: Client,
  { target, namespace, watch, output }: WhyFlags & { target: string },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const [, kind, setName] = /^(sts|statefulsets?)\/(.+)$/.exec(target) ?? [];
    const name = kind && setName ? await findHoldUp(client, { namespace, name: setName }, signal) : target;
    const facts = await gatherFacts({ client, clock: systemClock }, { namespace, name }, signal);
    const view = {
      pod: facts.pod,
      explanation: explainPod(facts),
      spans: waterfall(facts.pod),
      now: facts.now,
    };
    print(view, { output, watch });
    if (!watch || view.explanation.stage === "ready" || view.explanation.stage === "ended") return;
    await systemClock.sleep(lookAgainMs, signal).catch(() => {});
    if (signal.aborted) return;
  }
}

function print(view: WhyView, { output, watch }: Pick<WhyFlags, "output" | "watch">): void {
  const { stdout } = process;
  if (output === "json") {
    const { namespace, name } = view.pod.metadata;
    const spans = view.spans.map(({ name: span, startMs, endMs }) => ({
      name: span,
      start: new Date(startMs).toISOString(),
      ...(endMs !== undefined && { end: new Date(endMs).toISOString() }),
    }));
    stdout.write(`${JSON.stringify({ namespace, name, ...view.explanation, spans })}\n`);
    return;
  }
  const color = stdout.isTTY === true && !process.env.NO_COLOR;
  const screen = renderWhy(view, { columns: stdout.columns ?? 100, color });
  stdout.write(watch && stdout.isTTY ? `\x1b[H\x1b[2J${screen}` : screen);
}
