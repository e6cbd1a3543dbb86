import type { Container, ContainerStatus, Event } from "../api/meta/objects.ts";
import { eventTimeMs } from "../api/meta/time.ts";
import { mayRestart } from "../api/pod/pod-containers.ts";
import { parseGoDuration } from "../lib/go-duration.ts";
import { humanDuration } from "../lib/human-duration.ts";
import { describeCause, type Failure, findCause, recoveryOf } from "./causes.ts";
import { inCommands } from "./commands.ts";
import { containerFailure } from "./container-failure.ts";
import {
  type ContainerLog,
  type Explanation,
  eventsOf,
  joinFixes,
  lastEvent,
  type PodFacts,
  probeKill,
  restarts,
  withMeaning,
} from "./explanation.ts";
import { adviceFor } from "./startup-advice.ts";

/** Explains a container that waits for its next start after a crash. */
export function explainCrashLoop(
  facts: PodFacts,
  { container, status, failure }: { container: Container; status: ContainerStatus; failure: Failure },
): Explanation {
  const last = status.lastState?.terminated;
  const kill = probeKill(facts, container.name);
  const words = last?.message ? `: ${last.message.trim()}` : kill ? `: it ${kill}` : "";
  const next = nextStart(status, facts.now);
  const exited = `Container ${container.name} exited${last ? ` with ${exitOf(last)}` : ""}${words}`;
  return {
    stage: "crashing",
    since: last?.finishedAt ?? undefined,
    ...explainExit(facts, container, {
      failure,
      words: `${exited}, ${restarts(status.restartCount)} so far${next}`,
    }),
  };
}

/** Explains a container that has exited, until its kubelet restarts it or reports the back-off. */
export function explainTerminated(
  facts: PodFacts,
  container: Container,
  status: ContainerStatus,
): Explanation {
  const { pod, now } = facts;
  const exit = status.state?.terminated ?? { exitCode: 0 };
  const since = exit.finishedAt ?? undefined;
  const failure = containerFailure(pod, status, { now });
  const restarted = mayRestart(container, pod.spec ?? { containers: [] }, exit.exitCode);
  const outlook = restarted ? "is about to be restarted" : "is not restarted because of its restartPolicy";
  const exited = `Container ${container.name} exited with ${exitOf(exit)} and ${outlook}`;
  if (failure) {
    const words = exit.message ? `${exited}: ${exit.message.trim()}` : exited;
    const explanation = explainExit(facts, container, { failure, words });
    if (restarted) return { stage: "crashing", since, ...explanation };
    const { resolvesWhen, ...rest } = explanation;
    return { stage: "crashing", since, ...rest, isTransient: false };
  }
  if (restarted) {
    const fix = `read its log: kubectl logs ${inCommands(pod)} -c ${container.name}`;
    const resolvesWhen = "if one of the next starts succeeds";
    return { stage: "crashing", since, because: `${exited}.`, isTransient: true, resolvesWhen, fix };
  }
  const resolvesWhen = "when the other containers complete, which completes the pod";
  return {
    stage: "readiness",
    since,
    because: `${exited}.`,
    isTransient: true,
    resolvesWhen,
    fix: undefined,
  };
}

/** Cause of an exit with its fix and the last lines of the log. */
function explainExit(
  facts: PodFacts,
  container: Container,
  { failure, words }: { readonly failure: Failure; readonly words: string },
): Omit<Explanation, "stage" | "since"> {
  const cause = hookFailure(facts, container, failure) ?? failure;
  const isPermanent = recoveryOf(cause) === "permanent";
  const { explanation, fix } = describeCause(cause, { pod: facts.pod, container });
  // A probe that kills it during startup may allow too little time.
  const advice = probeKill(facts, container.name) && adviceFor(facts, container.name);
  const log = logOf(facts, container, words);
  return {
    because: withMeaning(words, explanation),
    isTransient: !isPermanent,
    ...(!isPermanent && { resolvesWhen: "if one of the next starts succeeds" }),
    fix: joinFixes([advice, fix]),
    ...(log && { logs: [log] }),
  };
}

/** Explains a running container that the kubelet stops because its postStart hook failed. Undefined if it did not fail. */
export function explainFailedHook(
  facts: PodFacts,
  container: Container,
  since: string | undefined,
): Explanation | undefined {
  const hook = lastHookEvent(facts, container);
  if (!hook || eventTimeMs(hook) < Date.parse(since ?? "")) return undefined;
  const words = `Container ${container.name} is running and is about to be stopped: ${hook.message}`;
  const failure = { reason: hookReason, message: hook.message ?? "" };
  return { stage: "crashing", since, ...explainExit(facts, container, { failure, words }) };
}

/** A failed postStart hook, which only an event names. */
function hookFailure(facts: PodFacts, container: Container, failure: Failure): Failure | undefined {
  if (findCause(failure)?.name !== "ContainerExits") return undefined;
  const hook = lastHookEvent(facts, container);
  return hook && { reason: hookReason, message: hook.message ?? "" };
}

const hookReason = "FailedPostStartHook";

function lastHookEvent(facts: PodFacts, container: Container): Event | undefined {
  return lastEvent({ events: eventsOf(facts, container.name) }, hookReason);
}

/** Log of the container, unless its termination message repeats the log (FallbackToLogsOnError). */
function logOf({ logs = [] }: PodFacts, container: Container, words: string): ContainerLog | undefined {
  const log = logs.find((each) => each.container === container.name);
  const last = log?.lines.at(-1)?.trim();
  return last && !words.includes(last) ? log : undefined;
}

/** `code 137 (OOMKilled)` */
function exitOf({ exitCode, reason }: { readonly exitCode: number; readonly reason?: string }): string {
  const isNamed = reason && reason !== "Error" && reason !== "Completed";
  return `code ${exitCode}${isNamed ? ` (${reason})` : ""}`;
}

/** When the kubelet starts the container again, from the end of the last run and the back-off in the message. */
function nextStart(status: ContainerStatus, now: number): string {
  const delay = /back-off (\S+)/.exec(status.state?.waiting?.message ?? "")?.[1];
  const delayMs = delay && parseGoDuration(delay);
  const endedMs = Date.parse(status.lastState?.terminated?.finishedAt ?? "");
  if (!delayMs) return "";
  if (Number.isNaN(endedMs)) return `; the next start is delayed by ${delay}`;
  const leftMs = endedMs + delayMs - now;
  return leftMs > 0 ? `; the next start is in ${inWords(leftMs / 1_000)}` : "; the next start is due";
}

/** Duration: `90 s`, `5m`. */
export function inWords(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : humanDuration(1_000 * seconds);
}
