import type { PodView } from "../../../src/monitor/feed/feed-message.ts";

/** The stretches of a start, in their order. Each has its colour, in style/tokens.css. */
export const stages = ["scheduling", "sandbox", "init", "containers", "readiness"] as const;
export type Stage = (typeof stages)[number];

export const stageLabels: Readonly<Record<Stage, string>> = {
  scheduling: "Scheduling",
  sandbox: "Volumes and sandbox",
  init: "Init containers",
  containers: "Images and containers",
  readiness: "Until ready",
};

/** A pull is a part of a stage, with a colour of its own in a waterfall. */
export type SpanTone = Stage | "pull";

/** Of a span's name, as the server gives it. */
export function toneOfSpan(name: string): SpanTone {
  if (name.startsWith("init ")) return "init";
  if (name.startsWith("pull ")) return "pull";
  return stages.find((stage) => stageLabels[stage].toLowerCase() === name) ?? "containers";
}

const ofPod: Readonly<Record<PodView["stage"], SpanTone | "failing" | "over">> = {
  scheduling: "scheduling",
  volumes: "sandbox",
  sandbox: "sandbox",
  init: "init",
  pulling: "pull",
  creating: "containers",
  starting: "readiness",
  readiness: "readiness",
  crashing: "failing",
  ready: "over",
  ended: "over",
  terminating: "over",
};

/** The colour that a pod's stage is shown in; a stage that this page does not know has none of its own. */
export function toneOfPod(stage: PodView["stage"]): SpanTone | "failing" | "over" {
  return ofPod[stage] ?? "over";
}
