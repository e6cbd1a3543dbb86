import { humanDuration } from "../../lib/human-duration.ts";
import type { TourEvent } from "../../tour/tour-event.ts";
import { painter, printable, type ScreenOptions, type Tone, wrap } from "./terminal-text.ts";

type Told = Exclude<TourEvent, { kind: "state" }>;

/** What the tour says, in lines that are kept. Commands are never broken: they are there to be copied. */
export function renderTourEvent(event: Told, options: ScreenOptions): string[] {
  const paint = painter(options.color);
  const command = (line: string) => `    ${paint("cyan", `$ ${printable(line)}`)}`;
  switch (event.kind) {
    case "preparing":
      return [paint("dim", `Making ${event.what} …`)];
    case "cluster":
      return renderCluster(event, options);
    case "step":
      return [
        "",
        "",
        paint("bold", `${event.number} of ${event.of}  ${event.step.title}`),
        ...paragraph(event.step.proposal, options).map((line) => paint("dim", line)),
        "",
        ...paragraph(event.step.about, options),
      ];
    case "does":
      return [
        "",
        ...marked("▸", "cyan", event.command || event.manifest ? `${event.what}:` : event.what, options),
        ...(event.manifest ?? "")
          .split("\n")
          .flatMap((line) => (line ? [`    ${paint("cyan", printable(line))}`] : [])),
        ...(event.command ? [command(event.command)] : []),
      ];
    case "shown":
      return marked("✓", "green", event.what, options);
    case "look":
      return ["", ...paragraph("To see the same:", options), ...event.commands.map(command)];
    case "stepDone": {
      const { problem, step } = event.outcome;
      if (problem !== undefined) return ["", ...marked("✗", "red", problem, options)];
      return paragraph(`More: ${step.page}`, options).map((line) => paint("dim", line));
    }
    case "cleaning":
      return ["", "", paint("dim", "Removing the cluster and all that it made …")];
    case "end":
      return renderEnd(event, options);
  }
}

function renderCluster(event: Extract<Told, { kind: "cluster" }>, options: ScreenOptions): string[] {
  const paint = painter(options.color);
  const { kubeconfig, runtime, simulated, tookMs } = event;
  const note =
    "No container really runs here; all the rest is real. As root, and outside of an unprivileged container, the tour runs them.";
  return [
    ...paragraph(`Ready after ${seconds(tookMs)}. Containers: ${runtime}.`, options, ""),
    ...(simulated ? paragraph(note, options, "").map((line) => paint("yellow", line)) : []),
    "",
    "To look around from another terminal while it goes on:",
    `    ${paint("cyan", `export KUBECONFIG=${kubeconfig}`)}`,
  ];
}

function renderEnd({ outcomes, tookMs }: Extract<Told, { kind: "end" }>, options: ScreenOptions): string[] {
  const paint = painter(options.color);
  const rows = outcomes.flatMap(({ number, step, problem, tookMs: took }) =>
    marked(
      problem === undefined ? "✓" : "✗",
      problem === undefined ? "green" : "red",
      `${number}  ${step.title}, ${seconds(took)}`,
      options,
    ),
  );
  const words = `That was all, in ${humanDuration(tookMs)}; nothing of it is left. A cluster to keep:`;
  return ["", ...rows, "", ...paragraph(words, options, ""), `    ${paint("cyan", "$ kindling up")}`];
}

function paragraph(text: string, { columns }: ScreenOptions, indent = "  "): string[] {
  const width = Math.max(20, Math.min(100, columns - 1) - indent.length);
  return wrap(text, width).map((line) => indent + line);
}

function marked(mark: string, tone: Tone, text: string, options: ScreenOptions): string[] {
  const [first = "", ...rest] = paragraph(text, options, "    ");
  return [`  ${painter(options.color)(tone, mark)} ${first.trimStart()}`, ...rest];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
