import type { PodView } from "../../../src/monitor/feed/feed-message.ts";

/** Stages of a start, in order. Their colours are in style/tokens.css. */
export const stages = ["scheduling", "sandbox", "init", "containers", "readiness"] as const;
export type Stage = (typeof stages)[number];

export const stageLabels: Readonly<Record<Stage, string>> = {
  scheduling: "Scheduling",
  sandbox: "Volumes and sandbox",
  init: "Init containers",
  containers: "Images and containers",
  readiness: "Until ready",
};

/** Colours of spans: those of the stages, and one for pulls. */
export type SpanTone = Stage | "pull";

/** Colour of a span by the name that the server sends. */
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

/** Colour of a pod's stage; unknown stages have a default colour. */
export function toneOfPod(stage: PodView["stage"]): SpanTone | "failing" | "over" {
  return ofPod[stage] ?? "over";
}
