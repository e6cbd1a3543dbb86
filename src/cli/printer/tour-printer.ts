import type { Clock } from "../../lib/clock.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import type { PodState, TourEvent } from "../../tour/model/step-context.ts";
import {
  createRedraw,
  type Output,
  painter,
  printable,
  type ScreenOptions,
  type Tone,
  wantsColor,
  wrap,
} from "./terminal-text.ts";
import { renderPullBar } from "./why-screen.ts";

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Renders the state of a pod for a terminal: name, stage, reason, and a progress bar while it pulls an image. */
function renderTourState(
  { facts, explanation }: PodState,
  { columns, color, frame }: ScreenOptions & { frame: number },
): string[] {
  const paint = painter(color);
  const { stage, isTransient, because } = explanation;
  const tone: Tone = stage === "ready" ? "green" : isTransient ? "yellow" : "red";
  const mark = stage === "ready" ? "●" : (spinner[frame % spinner.length] ?? "");
  return [
    `  ${paint(tone, mark)} ${paint("bold", facts.pod.metadata.name ?? "")}  ${paint(tone, stage)}`,
    ...wrap(because, Math.max(20, columns - 5)).map((line) => `    ${line}`),
    ...renderPullBar(facts.pulls, { columns, color }).map((line) => `    ${line}`),
  ];
}

/** Formats the state of a pod in one line. */
function formatTourState({ facts, explanation }: PodState): string {
  return `    ${facts.pod.metadata.name} is ${explanation.stage}: ${printable(explanation.because)}`;
}

type PrintedEvent = Exclude<TourEvent, { kind: "state" }>;

/** Renders an event of the tour. Commands are not wrapped, so that they can be copied. */
function renderTourEvent(event: PrintedEvent, options: ScreenOptions): string[] {
  const paint = painter(options.color);
  const command = (line: string) => `    ${paint("cyan", `$ ${printable(line)}`)}`;
  switch (event.kind) {
    case "preparing":
      return [paint("dim", `Creating ${event.what} …`)];
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
      return ["", "", paint("dim", "Removing the cluster …")];
    case "end":
      return renderEnd(event, options);
  }
}

function renderCluster(event: Extract<PrintedEvent, { kind: "cluster" }>, options: ScreenOptions): string[] {
  const paint = painter(options.color);
  const { kubeconfig, runtime, simulated, tookMs } = event;
  const note =
    "Containers are simulated; everything else is real. The tour runs containers as root on a machine, or in a privileged container.";
  return [
    ...paragraph(`Ready after ${seconds(tookMs)}. Containers: ${runtime}.`, options, ""),
    ...(simulated ? paragraph(note, options, "").map((line) => paint("yellow", line)) : []),
    "",
    "To use the cluster from another terminal during the tour:",
    `    ${paint("cyan", `export KUBECONFIG=${kubeconfig}`)}`,
  ];
}

function renderEnd(
  { outcomes, tookMs }: Extract<PrintedEvent, { kind: "end" }>,
  options: ScreenOptions,
): string[] {
  const paint = painter(options.color);
  const rows = outcomes.flatMap(({ number, step, problem, tookMs: took }) =>
    marked(
      problem === undefined ? "✓" : "✗",
      problem === undefined ? "green" : "red",
      `${number}  ${step.title}, ${seconds(took)}`,
      options,
    ),
  );
  const words = `The tour took ${humanDuration(tookMs)}; its cluster is removed. To start your own cluster:`;
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

export interface TourPrinter {
  print(event: TourEvent): void;
}

/**
 * Creates a printer for the events of the tour. On a terminal the state of a pod is redrawn in place; otherwise every
 * change is a line.
 */
export function createTourPrinter({ output, clock }: { output: Output; clock: Clock }): TourPrinter {
  const color = wantsColor(output);
  const columns = () => output.columns || 80;
  const write = (event: Exclude<TourEvent, { kind: "state" }>) => {
    const lines = renderTourEvent(event, { columns: columns(), color });
    output.write(lines.map((line) => `${line}\n`).join(""));
  };
  if (!output.isTTY) {
    let last = "";
    return {
      print(event) {
        if (event.kind !== "state") return write(event);
        const line = formatTourState(event.state);
        if (withoutSeconds(line) !== withoutSeconds(last)) output.write(`${line}\n`);
        last = line;
      },
    };
  }
  const live = createRedraw(output);
  return {
    print(event) {
      if (event.kind === "state") {
        const frame = Math.floor(clock.now() / 250);
        return live.draw(["", ...renderTourState(event.state, { columns: columns(), color, frame }), ""]);
      }
      live.draw([]);
      write(event);
    },
  };
}

/** Removes durations, so that a line that differs only in time is not printed again. */
function withoutSeconds(line: string): string {
  return line.replaceAll(/\d+ s\b/g, "");
}
