import type { Container, ContainerStatus } from "../../api/objects.ts";
import { healsByItself } from "../../api/waiting-reasons.ts";
import { explainMaking, explainPull } from "./explain-pull.ts";
import { type Explanation, eventsOf, type PodFacts, probeKill, restarts, sentence } from "./explanation.ts";
import { fixFor } from "./fix-waiting.ts";
import { adviceFor } from "./startup-advice.ts";

const whileMaking = new Set(["", "ContainerCreating", "PodInitializing"]);
const aboutTheImage = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "RegistryUnavailable",
  "ImageInspectError",
  "SignatureValidationFailed",
]);

/** A container that does not run: on its way, or kept from it. */
export function explainWaiting(
  facts: PodFacts,
  container: Container,
  status: ContainerStatus | undefined,
): Explanation {
  const { reason = "", message = "" } = status?.state?.waiting ?? {};
  const pull = facts.pulls.find((each) => each.container === container.name);
  if (pull) return explainPull(facts, pull);
  if (whileMaking.has(reason)) return explainMaking(facts, container);
  const crashes = reason === "CrashLoopBackOff";
  // A probe that ends it while it starts may have too little patience.
  const advice = crashes && probeKill(facts, container.name) && adviceFor(facts, container.name);
  const fix = fixFor(facts.pod, container, { reason, message });
  const words = `Container ${container.name} waits: ${reason}${message ? `: ${message}` : ""}`;
  return {
    stage: crashes ? "crashing" : aboutTheImage.has(reason) ? "pulling" : "creating",
    since: troubleSince(facts, container) ?? status?.lastState?.terminated?.finishedAt ?? undefined,
    because: sentence(crashes ? crashWords(facts, container, status) : words),
    healsByItself: healsByItself(reason),
    ...(healsByItself(reason) && { healsWhen: healsWhen(reason) }),
    fix: advice ? `${advice}; ${fix}` : fix,
  };
}

function healsWhen(reason: string): string {
  if (reason === "CrashLoopBackOff") return "when it finds what it needs at one of the next starts";
  if (aboutTheImage.has(reason)) return "when the registry answers with the image; it is tried again";
  return "when the runtime can; it is tried again";
}

/** When it first went wrong: the oldest of the events that say so. */
function troubleSince(facts: PodFacts, container: Container): string | undefined {
  const times = eventsOf(facts, container.name)
    .filter(({ reason = "" }) => ["Failed", "BackOff", "InspectFailed", "FailedCreate"].includes(reason))
    .flatMap(
      ({ firstTimestamp, eventTime, lastTimestamp }) => firstTimestamp ?? eventTime ?? lastTimestamp ?? [],
    );
  return times.toSorted((a, b) => Date.parse(a) - Date.parse(b))[0];
}

function crashWords(facts: PodFacts, container: Container, status: ContainerStatus | undefined): string {
  const last = status?.lastState?.terminated;
  const reason = last?.reason && last.reason !== "Error" ? ` (${last.reason})` : "";
  const how = last ? ` with exit code ${last.exitCode}${reason}` : "";
  const kill = probeKill(facts, container.name);
  const words = last?.message ? `: ${last.message.trim()}` : kill ? `: it ${kill}` : "";
  const delay = /back-off (\S+)/.exec(status?.state?.waiting?.message ?? "")?.[1];
  const next = delay ? `; the next start waits ${delay}` : "";
  return `Container ${container.name} ended${how}${words}, ${restarts(status?.restartCount ?? 0)} so far${next}`;
}
