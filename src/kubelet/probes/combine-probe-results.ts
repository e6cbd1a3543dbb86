// Clauses: 950-1, 950-3, 950-4
import type { Container, Pod } from "../../api/meta/objects.ts";
import type { CombinedProbeResult } from "../model/prober.ts";
import type { ProbeAnswer } from "./decide-probe.ts";

export interface ProbedContainer {
  readonly container: Container;
  readonly role: ContainerRole;
}

/** Role of a container. A sidecar is an init container with restart policy Always; it is probed like main containers. */
export type ContainerRole = "main" | "sidecar" | "init";

/** Results of the probes of a container. Undefined if it has no probe of that kind. */
export interface ProbeAnswers {
  readonly startup?: ProbeAnswer;
  readonly liveness?: ProbeAnswer;
  readonly readiness?: ProbeAnswer;
}

/** Combines the probe results of a running container. */
export function combineProbeResults(
  pod: Pod,
  subject: ProbedContainer,
  answers: ProbeAnswers,
): CombinedProbeResult {
  const { startup = "success", liveness = "success", readiness = "success" } = answers;
  const started = startup === "success";
  const ready = started && readiness === "success" && subject.role !== "init";
  if (liveness === "failure") return { started, ready, kill: decideKill(pod, subject, "liveness") };
  if (startup === "failure") return { started, ready, kill: decideKill(pod, subject, "startup") };
  return { started, ready };
}

function decideKill(
  pod: Pod,
  { container, role }: ProbedContainer,
  probe: "startup" | "liveness",
): CombinedProbeResult["kill"] {
  const spec = probe === "startup" ? container.startupProbe : container.livenessProbe;
  const gracePeriodSeconds = spec?.terminationGracePeriodSeconds;
  // Upstream's text for sidecars does not mention the restart, although there always is one.
  if (role !== "main") {
    return { probe, message: `Init container ${container.name} failed ${probe} probe`, gracePeriodSeconds };
  }
  const restarts = (container.restartPolicy ?? pod.spec?.restartPolicy) !== "Never";
  const message = `Container ${container.name} failed ${probe} probe${restarts ? ", will be restarted" : ""}`;
  return { probe, message, gracePeriodSeconds };
}
