import type { Container, ContainerStatus } from "../api/meta/objects.ts";
import { mayRestart } from "../api/pod/pod-containers.ts";
import { inCommands } from "./commands.ts";
import { explainFailedHook, explainTerminated } from "./explain-crash.ts";
import { explainWaiting } from "./explain-waiting.ts";
import {
  type Explanation,
  eventsOf,
  joinFixes,
  lastEvent,
  type PodFacts,
  restarts,
  sentence,
} from "./explanation.ts";
import { findBudget } from "./find-budget.ts";
import { adviceFor } from "./startup-advice.ts";

/** Explains why a container keeps its pod from being ready. Undefined if it does not. */
export function explainContainer(
  facts: PodFacts,
  container: Container,
  status: ContainerStatus | undefined,
): Explanation | undefined {
  const waiting = status?.state?.waiting;
  if (waiting || !status?.state) return explainWaiting(facts, container, status);
  if (status.state.terminated) return explainTerminated(facts, container, status);
  const failedHook = explainFailedHook(facts, container, status.state.running?.startedAt);
  if (failedHook && !status.ready) return failedHook;
  // Clusters before 1.16 do not report it, and have no startup probes.
  if (status.started === false) return explainStarting(facts, container, status);
  if (!status.ready) return explainUnready(facts, container, status);
  return undefined;
}

/** Exit code of a container that was killed. */
const killedCode = 137;

function explainStarting(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const since = status.state?.running?.startedAt ?? undefined;
  const log = `kubectl logs ${inCommands(facts.pod)} -c ${container.name}`;
  if (!container.startupProbe) {
    return {
      stage: "starting",
      since,
      because: `Container ${container.name} is running and has not started yet.`,
      isTransient: true,
      resolvesWhen: "in a moment, or when its postStart hook completes",
      fix: `its log: ${log}`,
    };
  }
  const budget = findBudget(facts, container, since ? Date.parse(since) : facts.now);
  const isRestarted = mayRestart(container, facts.pod.spec ?? { containers: [] }, killedCode);
  const failure = probeFailure(facts, container, "Startup");
  const after = status.restartCount > 0 ? `, after ${restarts(status.restartCount)}` : "";
  return {
    stage: "starting",
    since,
    because: sentence(
      `Container ${container.name} is running and its startup probe has not succeeded yet: ${budget.text}${after}${failure ? `; ${failure}` : ""}`,
    ),
    isTransient: true,
    resolvesWhen: `when the probe succeeds; otherwise the container is ${isRestarted ? "restarted" : "stopped"} in ${budget.secondsLeft} s at the latest`,
    fix: joinFixes([
      `if it needs longer, ${adviceFor(facts, container.name) ?? "raise startupProbe.failureThreshold"}`,
      `its log: ${log}`,
    ]),
  };
}

function explainUnready(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const failure = probeFailure(facts, container, "Readiness");
  return {
    stage: "readiness",
    since: status.state?.running?.startedAt ?? undefined,
    because: sentence(`Container ${container.name} is running but not ready${failure ? `: ${failure}` : ""}`),
    isTransient: true,
    resolvesWhen: container.readinessProbe
      ? "when its readiness probe succeeds"
      : "when its kubelet reports that it is ready",
    fix: `its log: kubectl logs ${inCommands(facts.pod)} -c ${container.name}`,
  };
}

/** Last failure message of this kind of probe. */
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
