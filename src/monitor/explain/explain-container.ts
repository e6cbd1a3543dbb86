import { mayRestart } from "../../api/may-restart.ts";
import type { Container, ContainerStatus } from "../../api/objects.ts";
import { explainWaiting } from "./explain-waiting.ts";
import {
  type Explanation,
  eventsOf,
  inCommands,
  lastEvent,
  type PodFacts,
  restarts,
  sentence,
} from "./explanation.ts";
import { findBudget } from "./find-budget.ts";
import { adviceFor } from "./startup-advice.ts";

/** A container that keeps its pod from being ready, and why; undefined for one that does not. */
export function explainContainer(
  facts: PodFacts,
  container: Container,
  status: ContainerStatus | undefined,
): Explanation | undefined {
  const waiting = status?.state?.waiting;
  if (waiting || !status?.state) return explainWaiting(facts, container, status);
  if (status.state.terminated) return explainTerminated(facts, container, status);
  // Clusters before 1.16 do not tell; there is no startup probe then.
  if (status.started === false) return explainStarting(facts, container, status);
  if (!status.ready) return explainUnready(facts, container, status);
  return undefined;
}

function explainTerminated(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const { finishedAt, exitCode = 0 } = status.state?.terminated ?? {};
  const since = finishedAt ?? undefined;
  const log = `read what it said: kubectl logs ${inCommands(facts.pod)} -c ${container.name}`;
  const ended = `Container ${container.name} ended with exit code ${exitCode}`;
  if (mayRestart(container, facts.pod.spec ?? { containers: [] }, exitCode)) {
    return {
      stage: "crashing",
      since,
      because: `${ended} and is about to be started again.`,
      healsByItself: true,
      healsWhen: "when it finds what it needs at one of the next starts",
      fix: `${log} --previous`,
    };
  }
  const because = `${ended} and is not started again, by its restartPolicy.`;
  if (exitCode !== 0) return { stage: "crashing", since, because, healsByItself: false, fix: log };
  const healsWhen = "when its other containers have ended too: then the pod is done";
  return { stage: "readiness", since, because, healsByItself: true, healsWhen, fix: undefined };
}

/** Of a container that did not end by itself. */
const killedCode = 137;

function explainStarting(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const since = status.state?.running?.startedAt ?? undefined;
  const log = `kubectl logs ${inCommands(facts.pod)} -c ${container.name}`;
  if (!container.startupProbe) {
    return {
      stage: "starting",
      since,
      because: `Container ${container.name} runs and is about to count as started.`,
      healsByItself: true,
      healsWhen: "in a moment, or when its postStart hook is done",
      fix: `its log: ${log}`,
    };
  }
  const budget = findBudget(facts, container, since ? Date.parse(since) : facts.now);
  const goesOn = mayRestart(container, facts.pod.spec ?? { containers: [] }, killedCode);
  const failure = probeFailure(facts, container, "Startup");
  const after = status.restartCount > 0 ? `, after ${restarts(status.restartCount)}` : "";
  return {
    stage: "starting",
    since,
    because: sentence(
      `Container ${container.name} runs and its startup probe has not succeeded yet: ${budget.text}${after}${failure ? `; ${failure}` : ""}`,
    ),
    healsByItself: true,
    healsWhen: `when the probe succeeds; else the container is ${goesOn ? "started again" : "ended"} in ${budget.secondsLeft} s at the latest`,
    fix: `if it needs longer, ${adviceFor(facts, container.name) ?? "raise startupProbe.failureThreshold"}; its log: ${log}`,
  };
}

function explainUnready(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const failure = probeFailure(facts, container, "Readiness");
  return {
    stage: "readiness",
    since: status.state?.running?.startedAt ?? undefined,
    because: sentence(
      `Container ${container.name} has started and is not ready${failure ? `: ${failure}` : ""}`,
    ),
    healsByItself: true,
    healsWhen: "when its readiness probe succeeds",
    fix: `its log: kubectl logs ${inCommands(facts.pod)} -c ${container.name}`,
  };
}

/** What a probe of this kind said last; words of another kind would mislead. */
function probeFailure(
  facts: PodFacts,
  container: Container,
  kind: "Startup" | "Readiness",
): string | undefined {
  const events = eventsOf(facts, container.name).filter(({ message }) =>
    message?.startsWith(`${kind} probe`),
  );
  return lastEvent({ events }, "Unhealthy")?.message?.trim().replace(/:$/, "");
}
