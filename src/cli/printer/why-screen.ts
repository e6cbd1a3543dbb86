import { isTrue } from "../../api/meta/object-facts.ts";
import type { Pod } from "../../api/meta/objects.ts";
import type { ContainerLog, Explanation, PodFacts, WorkloadExplanation } from "../../explain/explanation.ts";
import type { Span } from "../../explain/waterfall.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import {
  ageOf,
  columnsOf,
  cutTo,
  type Paint,
  painter,
  printable,
  type ScreenOptions,
  type Tone,
  wrap,
} from "./terminal-text.ts";

/** Explanation of a pod, or of a workload and its blocking pod. */
export interface WhyView {
  readonly pod?: PodPart;
  readonly workload?: WorkloadView;
}

interface PodPart {
  readonly facts: PodFacts;
  readonly explanation: Explanation;
  readonly spans: readonly Span[];
}

export interface WorkloadView {
  readonly kind: "StatefulSet" | "Deployment" | "ReplicaSet" | "DaemonSet" | "Job" | "CronJob";
  readonly namespace: string;
  readonly name: string;
  readonly explanation: WorkloadExplanation;
  /** What the caller has no permission to read, in the plural: `events`. */
  readonly unreadable: readonly string[];
}

const permanentOutlook = "This does not resolve without a change.";

/** Renders an explanation: stage and reason, how to fix it, and the duration of each stage. */
export function renderWhy({ pod, workload }: WhyView, options: ScreenOptions): string[] {
  const parts = [
    // The blocking pod's part names what could not be read about it, which includes its events.
    ...(workload ? [renderWorkload(pod ? { ...workload, unreadable: [] } : workload, options)] : []),
    ...(pod ? [renderPod(pod, options)] : []),
  ];
  return parts.flatMap((lines, i) => (i === 0 ? lines : ["", ...lines]));
}

function renderPod({ facts, explanation, spans }: PodPart, options: ScreenOptions): string[] {
  const { pod, now } = facts;
  const { stage, since, isTransient } = explanation;
  const paint = painter(options.color);
  const age = since && stage !== "ended" ? ` for ${ageOf(since, now)}` : "";
  const ago = since && stage === "ended" ? ` ${ageOf(since, now)} ago` : "";
  const node = pod.spec?.nodeName ? paint("dim", `  on ${pod.spec.nodeName}`) : "";
  const tone = toneOf(explanation);
  const isOver = stage === "ready" || stage === "ended";
  const outlook = isTransient
    ? `This may resolve without a change${explanation.resolvesWhen ? `, ${explanation.resolvesWhen}` : ""}.`
    : permanentOutlook;
  return [
    `${paint("bold", `${pod.metadata.namespace}/${pod.metadata.name}`)}  ${paint(tone, stage)}${age}${ago}${node}`,
    "",
    ...renderStages({ pod, stage, tone }, options),
    ...indented(explanation.because, options),
    ...(stage === "pulling" ? renderPullBar(facts.pulls, options).flatMap((line) => ["", `  ${line}`]) : []),
    ...(isOver
      ? []
      : ["", ...indented(outlook, options).map((line) => paint(isTransient ? "yellow" : "red", line))]),
    ...(explanation.logs ?? []).flatMap((log) => renderLog(log, options)),
    ...renderFix(explanation.fix, options),
    "",
    ...renderSpans(spans, now, options),
    ...renderUnreadable(facts.unreadable, options),
  ];
}

/** Renders the last lines of a log, each cut to the width of the screen. */
function renderLog({ container, lines }: ContainerLog, options: ScreenOptions): string[] {
  const paint = painter(options.color);
  const cut = lines.map((line) => paint("dim", `  │ ${cutTo(printable(line), options.columns - 5)}`));
  return ["", ...indented(`Last lines of the log of container ${container}:`, options), ...cut];
}

/** Names what the caller may not read, since the explanation may lack it. */
function renderUnreadable(unreadable: readonly string[] = [], options: ScreenOptions): string[] {
  if (unreadable.length === 0) return [];
  const text = `You are not allowed to read ${unreadable.join(" and ")}; the explanation may lack what they show.`;
  return ["", ...indented(text, options).map((line) => painter(options.color)("dim", line))];
}

function toneOf({ stage, isTransient }: Explanation): Tone {
  if (stage === "ready") return "green";
  return isTransient && stage !== "crashing" ? "yellow" : isTransient && stage === "ended" ? "green" : "red";
}

/** Whether a workload has nothing left to wait for. */
export function isWorkloadOver({ replicas, ready, updated, isOver }: WorkloadExplanation): boolean {
  return isOver ?? (ready >= replicas && updated >= replicas);
}

function renderWorkload(
  { kind, namespace, name, explanation, unreadable }: WorkloadView,
  options: ScreenOptions,
): string[] {
  const { replicas, ready, updated, strategy, because, isTransient, fix } = explanation;
  const paint = painter(options.color);
  const complete = isWorkloadOver(explanation) && isTransient;
  const counts =
    explanation.progress ?? `${ready} of ${replicas} ready, ${Math.min(updated, replicas)} updated`;
  const tone = complete ? "green" : isTransient ? "yellow" : "red";
  return [
    `${paint("bold", `${kind.toLowerCase()} ${namespace}/${name}`)}  ${paint(tone, counts)}${paint("dim", `  ${strategy}`)}`,
    "",
    ...indented(because, options),
    ...(isTransient ? [] : ["", ...indented(permanentOutlook, options).map((line) => paint("red", line))]),
    ...renderFix(fix, options),
    ...renderUnreadable(unreadable, options),
  ];
}

function indented(text: string, { columns }: ScreenOptions): string[] {
  return wrap(text, Math.max(20, columns - 3)).map((line) => `  ${line}`);
}

/** Renders each fix, with a command on its own line so that it can be copied. */
function renderFix(fix: string | undefined, options: ScreenOptions): string[] {
  return (fix?.split("\n") ?? []).flatMap((line) => ["", ...renderOneFix(line, options)]);
}

function renderOneFix(fix: string, options: ScreenOptions): string[] {
  const paint = painter(options.color);
  const [, words, command] = /^(.*?):? (kubectl .*)$/s.exec(fix) ?? [];
  if (!words || !command) return withLabel(fix, options, paint);
  return [...withLabel(`${words}:`, options, paint), `    ${paint("cyan", printable(command))}`];
}

function withLabel(text: string, options: ScreenOptions, paint: Paint): string[] {
  const [first = "", ...rest] = indented(`Fix: ${text}`, options);
  return [first.replace("Fix:", paint("bold", "Fix:")), ...rest];
}

/** Renders a bar for each span on a common scale. */
function renderSpans(spans: readonly Span[], now: number, { columns, color }: ScreenOptions): string[] {
  const [first] = spans;
  if (!first) return [];
  const paint = painter(color);
  const stopOf = ({ startMs, endMs }: Span) => endMs ?? Math.max(now, startMs);
  const totalMs = Math.max(Math.max(...spans.map(stopOf)) - first.startMs, 1);
  const names = spans.map(({ name }) => printable(name));
  const nameWidth = Math.max(...names.map(columnsOf));
  const barWidth = Math.max(6, Math.min(40, columns - nameWidth - 14));
  const columnOf = (ms: number) => Math.round(((ms - first.startMs) / totalMs) * barWidth);
  return spans.map((span, i) => {
    const goesOn = span.endMs === undefined;
    const from = Math.min(columnOf(span.startMs), barWidth - 1);
    const to = Math.max(columnOf(stopOf(span)), from + 1);
    const bar = paint(goesOn ? "yellow" : "cyan", (goesOn ? "▒" : "█").repeat(to - from));
    const name = (names[i] ?? "") + " ".repeat(nameWidth - columnsOf(names[i] ?? ""));
    const took = `${seconds(stopOf(span) - span.startMs)}${goesOn ? " …" : ""}`;
    return `  ${name}  ${" ".repeat(from)}${bar}${" ".repeat(barWidth - to)}  ${took}`;
  });
}

/** Most clusters have times in whole seconds; a fraction is shown if it is known. */
function seconds(ms: number): string {
  if (ms >= 120_000) return humanDuration(ms);
  return `${ms % 1_000 === 0 ? ms / 1_000 : (ms / 1_000).toFixed(1)} s`;
}

type Stage = Explanation["stage"];

/** Step in the line of stages for stages whose names differ. */
const stops: Partial<Record<Stage, string>> = {
  creating: "starting",
  crashing: "starting",
  readiness: "ready",
};
const offTheWay: readonly Stage[] = ["ended", "terminating"];

/** Renders completed, current and pending stages: `✓ scheduling ✓ volumes ● sandbox · pulling …`. */
function renderStages(
  { pod, stage, tone }: { pod: Pod; stage: Stage; tone: Tone },
  { columns, color }: ScreenOptions,
): string[] {
  if (offTheWay.includes(stage)) return [];
  const paint = painter(color);
  const inInit = hasInitToDo(pod);
  const way = wayOf(pod, inInit);
  const stop = stops[stage] ?? stage;
  const here = way.indexOf(inInit && stop === "starting" ? "init" : stop);
  const line = way
    .map((name, i) => {
      if (i < here || stage === "ready") return paint("green", `✓ ${name}`);
      if (i > here) return paint("dim", `· ${name}`);
      return paint(tone, `${tone === "red" ? "✗" : "●"} ${name}`);
    })
    .join("  ");
  // Omitted on a narrow screen; the header contains the stage.
  return columnsOf(line) + 2 < columns ? [`  ${line}`, ""] : [];
}

/** Stages of the pod. Images of init containers are pulled too, so pulling comes first until they have run. */
function wayOf({ spec }: Pod, inInit: boolean): readonly string[] {
  const middle = !spec?.initContainers?.length
    ? ["pulling"]
    : inInit
      ? ["pulling", "init"]
      : ["init", "pulling"];
  return ["scheduling", "volumes", "sandbox", ...middle, "starting", "ready"];
}

function hasInitToDo(pod: Pod): boolean {
  return Boolean(pod.spec?.initContainers?.length) && !isTrue(pod, "Initialized");
}

/** Renders a progress bar for a pull whose size is known. */
export function renderPullBar(pulls: PodFacts["pulls"], { columns, color }: ScreenOptions): string[] {
  const pull = pulls.find(({ total }) => total > 0);
  if (!pull) return [];
  const paint = painter(color);
  const width = Math.max(10, Math.min(40, columns - 14));
  const share = Math.min(1, pull.offset / pull.total);
  const full = Math.floor(share * width);
  return [
    `${paint("cyan", "█".repeat(full))}${paint("dim", "░".repeat(width - full))}  ${Math.floor(share * 100)} %`,
  ];
}

/** One line of JSON: a pod's explanation, or that of a workload with its blocking pod as `pod`. */
export function formatWhyJson({ pod, workload }: WhyView): string {
  const explained = workload ? workloadJson(workload, pod) : pod && podJson(pod);
  return `${JSON.stringify(explained)}\n`;
}

function workloadJson(
  { kind, namespace, name, explanation, unreadable }: WorkloadView,
  pod: PodPart | undefined,
) {
  const { isTransient, blockingPod, ...rest } = explanation;
  return {
    kind,
    namespace,
    name,
    ...rest,
    healsByItself: isTransient,
    holdUp: blockingPod,
    ...(unreadable.length > 0 && { unreadable }),
    ...(pod && { pod: podJson(pod) }),
  };
}

function podJson({ facts: { pod, pulls, advice, unreadable = [] }, explanation, spans }: PodPart) {
  return {
    kind: "Pod",
    namespace: pod.metadata.namespace,
    name: pod.metadata.name,
    node: pod.spec?.nodeName,
    ...explanationJson(explanation),
    ...(pulls.length > 0 && { pulls }),
    ...(advice.length > 0 && { advice }),
    ...(unreadable.length > 0 && { unreadable }),
    spans: spans.map(({ name, startMs, endMs }) => ({
      name,
      start: new Date(startMs).toISOString(),
      ...(endMs !== undefined && { end: new Date(endMs).toISOString() }),
    })),
  };
}

/** Fields of an explanation in JSON. Scripts read `healsByItself` and `healsWhen`, so the JSON keeps these names. */
export function explanationJson({ isTransient, resolvesWhen, ...rest }: Explanation) {
  return { ...rest, healsByItself: isTransient, ...(resolvesWhen && { healsWhen: resolvesWhen }) };
}
