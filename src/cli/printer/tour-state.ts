import type { PodState } from "../../tour/tour-event.ts";
import { painter, printable, type ScreenOptions, type Tone, wrap } from "./terminal-text.ts";
import { renderPullBar } from "./why-pull-bar.ts";

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** How a pod is, for a terminal: its name, stage and why, and a bar where it waits for an image. */
export function renderTourState(
  { facts, explanation }: PodState,
  { columns, color, frame }: ScreenOptions & { frame: number },
): string[] {
  const paint = painter(color);
  const { stage, healsByItself, because } = explanation;
  const tone: Tone = stage === "ready" ? "green" : healsByItself ? "yellow" : "red";
  const mark = stage === "ready" ? "●" : (spinner[frame % spinner.length] ?? "");
  return [
    `  ${paint(tone, mark)} ${paint("bold", facts.pod.metadata.name ?? "")}  ${paint(tone, stage)}`,
    ...wrap(because, Math.max(20, columns - 5)).map((line) => `    ${line}`),
    ...renderPullBar(facts.pulls, { columns, color }).map((line) => `    ${line}`),
  ];
}

/** The same in one line. */
export function formatTourState({ facts, explanation }: PodState): string {
  return `    ${facts.pod.metadata.name} is ${explanation.stage}: ${printable(explanation.because)}`;
}
