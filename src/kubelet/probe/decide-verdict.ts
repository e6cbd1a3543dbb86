import type { Container, Pod } from "../../api/objects.ts";
import type { ProbeAnswer } from "./decide-probe.ts";
import type { ProbeVerdict } from "./prober.ts";

export interface ProbedContainer {
  readonly container: Container;
  readonly role: ContainerRole;
}

/** A sidecar is an init container that restarts always: it runs on beside the main ones and is probed as they are. */
export type ContainerRole = "main" | "sidecar" | "init";

/** What the probes say; left out where there is none of that kind. */
export interface ProbeAnswers {
  readonly startup?: ProbeAnswer;
  readonly liveness?: ProbeAnswer;
  readonly readiness?: ProbeAnswer;
}

/** What the probes of a running container say together. */
export function decideVerdict(pod: Pod, subject: ProbedContainer, answers: ProbeAnswers): ProbeVerdict {
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
): ProbeVerdict["kill"] {
  const spec = probe === "startup" ? container.startupProbe : container.livenessProbe;
  const gracePeriodSeconds = spec?.terminationGracePeriodSeconds;
  // Upstream's text for a sidecar does not speak of a restart, though there always is one.
  if (role !== "main") {
    return { probe, message: `Init container ${container.name} failed ${probe} probe`, gracePeriodSeconds };
  }
  const restarts = (container.restartPolicy ?? pod.spec?.restartPolicy) !== "Never";
  const message = `Container ${container.name} failed ${probe} probe${restarts ? ", will be restarted" : ""}`;
  return { probe, message, gracePeriodSeconds };
}
