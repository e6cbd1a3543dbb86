import type { Container, ContainerStatus } from "../api/meta/objects.ts";
import { recoveryOf } from "./causes.ts";
import { containerFailure } from "./container-failure.ts";
import { explainCrashLoop } from "./explain-crash.ts";
import {
  countFailedPulls,
  describePullFailure,
  explainPull,
  explainPullEvent,
  pullFailure,
} from "./explain-pull.ts";
import {
  type Explanation,
  eventsOf,
  joinFixes,
  lastEvent,
  type PodFacts,
  withMeaning,
} from "./explanation.ts";

const imageReasons = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "RegistryUnavailable",
  "ImageInspectError",
  "SignatureValidationFailed",
]);

/** Explains a container that is not running: it is about to be created, or something keeps it from being created. */
export function explainWaiting(
  facts: PodFacts,
  container: Container,
  status: ContainerStatus | undefined,
): Explanation {
  const { pod, now } = facts;
  const { reason = "", message = "" } = status?.state?.waiting ?? {};
  const pull = facts.pulls.find((each) => each.container === container.name);
  if (pull) return explainPull(facts, pull);
  const attempts = countFailedPulls(facts, container);
  const failure = reason && status && containerFailure(pod, status, { now, attempts });
  if (!failure) return explainCreating(facts, container);
  const since = failingSince(facts, container);
  if (reason === "CrashLoopBackOff") {
    const crash = explainCrashLoop(facts, { container, status, failure });
    return { ...crash, since: since ?? crash.since };
  }
  const cause = pullFailure(facts, container, failure);
  const isPermanent = recoveryOf(cause) === "permanent";
  const { explanation, fixes } = describePullFailure(facts, container, cause);
  const words = `Container ${container.name} is waiting: ${reason}${message ? `: ${message}` : ""}`;
  return {
    stage: imageReasons.has(reason) ? "pulling" : "creating",
    since: since ?? status.lastState?.terminated?.finishedAt ?? undefined,
    because: withMeaning(words, explanation),
    isTransient: !isPermanent,
    ...(!isPermanent && { resolvesWhen: resolvesWhen(reason) }),
    fix: joinFixes(fixes),
  };
}

function resolvesWhen(reason: string): string {
  if (imageReasons.has(reason)) return "when the registry serves the image; the pull is retried";
  return "when the runtime succeeds; the kubelet retries";
}

/** Time of the oldest event about a failure of the container. */
function failingSince(facts: PodFacts, container: Container): string | undefined {
  const times = eventsOf(facts, container.name)
    .filter(({ reason = "" }) => ["Failed", "BackOff", "InspectFailed", "FailedCreate"].includes(reason))
    .flatMap(
      ({ firstTimestamp, eventTime, lastTimestamp }) => firstTimestamp ?? eventTime ?? lastTimestamp ?? [],
    );
  return times.toSorted((a, b) => Date.parse(a) - Date.parse(b))[0];
}

/** Explains a container without failures. Its events show whether it waits for the image. */
function explainCreating(facts: PodFacts, container: Container): Explanation {
  const event = lastEvent({ events: eventsOf(facts, container.name) }, "Pulling", "Pulled");
  if (event?.reason === "Pulling") return explainPullEvent(facts, container, event);
  return {
    stage: "creating",
    since: event?.lastTimestamp ?? event?.eventTime ?? undefined,
    because: `Container ${container.name} is about to be created.`,
    isTransient: true,
    resolvesWhen: "in a moment",
    fix: undefined,
  };
}
