import { isTrue } from "../../api/conditions.ts";
import type { Pod } from "../../api/objects.ts";
import type { Explanation } from "../../monitor/explain/explanation.ts";
import { columnsOf, painter, type ScreenOptions, type Tone } from "./terminal-text.ts";

type Stage = Explanation["stage"];

/** The stop on the way to ready that each stage is at; those that are not on it have none. */
const stops: Partial<Record<Stage, string>> = {
  creating: "starting",
  crashing: "starting",
  readiness: "ready",
};
const offTheWay: readonly Stage[] = ["ended", "terminating"];

/** `✓ scheduling  ✓ volumes  ● sandbox  · pulling  …`: what is done, where it is, what is to come. */
export function renderStages(
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
  // Where it does not fit, the header's word has to do.
  return columnsOf(line) + 2 < columns ? [`  ${line}`, ""] : [];
}

/** Images are pulled for init containers too: where these have yet to run, pulling comes before them. */
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
