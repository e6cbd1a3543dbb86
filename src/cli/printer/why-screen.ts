import { humanDuration } from "../../lib/human-duration.ts";
import type { SetExplanation } from "../../monitor/explain/explain-stateful-set.ts";
import type { Explanation, PodFacts } from "../../monitor/explain/explanation.ts";
import type { Span } from "../../monitor/explain/waterfall.ts";
import { type Paint, painter, printable, type ScreenOptions, type Tone, wrap } from "./terminal-text.ts";
import { renderPullBar } from "./why-pull-bar.ts";
import { renderSpans } from "./why-spans.ts";
import { renderStages } from "./why-stages.ts";

/** A pod, or a StatefulSet and the pod that holds it up. */
export interface WhyView {
  readonly pod?: PodPart;
  readonly set?: SetView;
}

export interface PodPart {
  readonly facts: PodFacts;
  readonly explanation: Explanation;
  readonly spans: readonly Span[];
}

export interface SetView {
  readonly namespace: string;
  readonly name: string;
  readonly explanation: SetExplanation;
}

/** One screen, line by line: where it is and why, what would help, then how long each part of the way took. */
export function renderWhy({ pod, set }: WhyView, options: ScreenOptions): string[] {
  const parts = [...(set ? [renderSet(set, options)] : []), ...(pod ? [renderPod(pod, options)] : [])];
  return parts.flatMap((lines, i) => (i === 0 ? lines : ["", ...lines]));
}

function renderPod({ facts, explanation, spans }: PodPart, options: ScreenOptions): string[] {
  const { pod, now } = facts;
  const { stage, since, healsByItself } = explanation;
  const paint = painter(options.color);
  const age = since && stage !== "ended" ? ` for ${humanDuration(now - Date.parse(since))}` : "";
  const ago = since && stage === "ended" ? ` ${humanDuration(now - Date.parse(since))} ago` : "";
  const node = pod.spec?.nodeName ? paint("dim", `  on ${pod.spec.nodeName}`) : "";
  const tone = toneOf(explanation);
  const isOver = stage === "ready" || stage === "ended";
  const heals = healsByItself
    ? `It may heal by itself${explanation.healsWhen ? `, ${explanation.healsWhen}` : ""}.`
    : "It does not heal by itself.";
  return [
    `${paint("bold", `${pod.metadata.namespace}/${pod.metadata.name}`)}  ${paint(tone, stage)}${age}${ago}${node}`,
    "",
    ...renderStages({ pod, stage, tone }, options),
    ...indented(explanation.because, options),
    ...(stage === "pulling" ? renderPullBar(facts.pulls, options).flatMap((line) => ["", `  ${line}`]) : []),
    ...(isOver
      ? []
      : ["", ...indented(heals, options).map((line) => paint(healsByItself ? "yellow" : "red", line))]),
    ...renderFix(explanation.fix, options),
    "",
    ...renderSpans(spans, now, options),
  ];
}

function toneOf({ stage, healsByItself }: Explanation): Tone {
  if (stage === "ready") return "green";
  return healsByItself && stage !== "crashing"
    ? "yellow"
    : healsByItself && stage === "ended"
      ? "green"
      : "red";
}

function renderSet({ namespace, name, explanation }: SetView, options: ScreenOptions): string[] {
  const { replicas, ready, updated, strategy, because, healsByItself, fix } = explanation;
  const paint = painter(options.color);
  const complete = ready >= replicas && updated >= replicas;
  const counts = `${ready} of ${replicas} ready, ${Math.min(updated, replicas)} updated`;
  const tone = complete ? "green" : healsByItself ? "yellow" : "red";
  return [
    `${paint("bold", `statefulset ${namespace}/${name}`)}  ${paint(tone, counts)}${paint("dim", `  ${strategy}`)}`,
    "",
    ...indented(because, options),
    ...(healsByItself ? [] : ["", paint("red", "  It does not heal by itself.")]),
    ...renderFix(fix, options),
  ];
}

function indented(text: string, { columns }: ScreenOptions): string[] {
  return wrap(text, Math.max(20, columns - 3)).map((line) => `  ${line}`);
}

/** A command has a line of its own, whole: it is there to be copied. */
function renderFix(fix: string | undefined, options: ScreenOptions): string[] {
  if (!fix) return [];
  const paint = painter(options.color);
  const [, words, command] = /^(.*?):? (kubectl .*)$/s.exec(fix) ?? [];
  if (!words || !command) return ["", ...withLabel(fix, options, paint)];
  return ["", ...withLabel(`${words}:`, options, paint), `    ${paint("cyan", printable(command))}`];
}

function withLabel(text: string, options: ScreenOptions, paint: Paint): string[] {
  const [first = "", ...rest] = indented(`To do: ${text}`, options);
  return [first.replace("To do:", paint("bold", "To do:")), ...rest];
}
