import type { Container, ContainerStatus } from "../../api/objects.ts";
import { explainWaiting } from "./explain-waiting.ts";
import { type Explanation, eventsOf, inCommands, lastEvent, type PodFacts, sentence } from "./explanation.ts";

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
  const { terminated } = status.state ?? {};
  return {
    stage: "crashing",
    since: terminated?.finishedAt ?? undefined,
    because: `Container ${container.name} ended with exit code ${terminated?.exitCode} and is about to be started again.`,
    healsByItself: true,
    healsWhen: "when it finds what it needs at one of the next starts",
    fix: `read what it said: kubectl logs ${inCommands(facts.pod)} -c ${container.name} --previous`,
  };
}

/** Probes begin after the initial delay, and the last one allowed to fail ends the budget. */
function explainStarting(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const { startupProbe: probe } = container;
  const since = status.state?.running?.startedAt ?? undefined;
  const log = `kubectl logs ${inCommands(facts.pod)} -c ${container.name}`;
  if (!probe) {
    return {
      stage: "starting",
      since,
      because: `Container ${container.name} runs and is about to count as started.`,
      healsByItself: true,
      healsWhen: "in a moment, or when its postStart hook is done",
      fix: `its log: ${log}`,
    };
  }
  const { periodSeconds = 10, failureThreshold = 3, initialDelaySeconds = 0 } = probe;
  const budget = initialDelaySeconds + periodSeconds * failureThreshold;
  const used = since ? Math.max(0, Math.round((facts.now - Date.parse(since)) / 1_000)) : 0;
  const failure = probeFailure(facts, container, "Startup");
  const restarts = status.restartCount > 0 ? `, after ${status.restartCount} restarts` : "";
  return {
    stage: "starting",
    since,
    because: sentence(
      `Container ${container.name} runs and its startup probe has not succeeded yet: ${used} s of at most ${budget} s are used${restarts}${failure ? `; ${failure}` : ""}`,
    ),
    healsByItself: true,
    healsWhen: `when the probe succeeds; after ${budget} s the container is started again`,
    fix: `if it needs longer, raise startupProbe.failureThreshold; its log: ${log}`,
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
