import type { Container, ContainerStatus, Pod } from "../../api/objects.ts";
import { healsByItself, waitingReasons } from "../../api/waiting-reasons.ts";
import {
  type Explanation,
  inCommands,
  lastEvent,
  namespaceFlag,
  type PodFacts,
  type PullFacts,
} from "./explanation.ts";

/** A container that keeps its pod from being ready, and why; undefined for one that does not. */
export function explainContainer(
  facts: PodFacts,
  container: Container,
  status: ContainerStatus | undefined,
): Explanation | undefined {
  const waiting = status?.state?.waiting;
  if (waiting || !status?.state) return explainWaiting(facts, container, status);
  if (status.state.terminated) return explainTerminated(facts, container, status);
  if (!status.started) return explainStarting(facts, container, status);
  if (!status.ready) return explainUnready(facts, container, status);
  return undefined;
}

const whileMaking = new Set([undefined, "", "ContainerCreating", "PodInitializing"]);

function explainWaiting(
  facts: PodFacts,
  container: Container,
  status: ContainerStatus | undefined,
): Explanation {
  const { pod } = facts;
  const { reason, message } = status?.state?.waiting ?? {};
  const pull = facts.pulls.find((each) => each.container === container.name);
  if (pull) return explainPull(facts, pull);
  if (whileMaking.has(reason)) return explainMaking(facts, container);
  const isImage = reason === "ErrImagePull" || reason === "ImagePullBackOff" || reason === "InvalidImageName";
  const because = `Container ${container.name} waits: ${reason}${message ? `: ${message}` : ""}.`.replace(
    /\.\.$/,
    ".",
  );
  return {
    stage: reason === "CrashLoopBackOff" ? "crashing" : isImage ? "pulling" : "creating",
    since: lastEvent(facts, "Failed", "BackOff", "InspectFailed")?.firstTimestamp ?? undefined,
    because: reason === "CrashLoopBackOff" ? crashSentence(container, status, message) : because,
    healsByItself: healsByItself(reason ?? ""),
    fix: fixFor(pod, container, { reason: reason ?? "", message: message ?? "" }),
  };
}

function explainPull({ now }: PodFacts, { image, startedAt, offset, total }: PullFacts): Explanation {
  const seconds = Math.max(1, (now - Date.parse(startedAt)) / 1_000);
  const rate = offset / seconds;
  const left = rate > 0 && total > offset ? `, about ${Math.ceil((total - offset) / rate)} s left` : "";
  const amount = total > 0 ? `${mebibytes(offset)} of ${mebibytes(total)} MiB` : `${mebibytes(offset)} MiB`;
  return {
    stage: "pulling",
    since: startedAt,
    because: `The image ${image} is being pulled: ${amount}${left}.`,
    healsByItself: true,
    fix: undefined,
  };
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0);
}

function explainMaking(facts: PodFacts, container: Container): Explanation {
  const event = lastEvent(facts, "Pulling", "Pulled");
  const isPulling = event?.reason === "Pulling";
  return {
    stage: isPulling ? "pulling" : "creating",
    since: event?.lastTimestamp ?? undefined,
    because: isPulling
      ? `${event?.message ?? `The image ${container.image} is being pulled`}.`
      : `Container ${container.name} is about to be made.`,
    healsByItself: true,
    fix: undefined,
  };
}

function crashSentence(container: Container, status: ContainerStatus | undefined, message = ""): string {
  const last = status?.lastState?.terminated;
  const how = last ? ` with exit code ${last.exitCode}${last.reason ? ` (${last.reason})` : ""}` : "";
  const words = last?.message ? `: ${last.message.trim()}` : "";
  const delay = /back-off (\S+)/.exec(message)?.[1];
  return `Container ${container.name} ended${how}${words}, ${status?.restartCount ?? 0} restarts so far${delay ? `; the next start waits ${delay}` : ""}.`;
}

function explainTerminated(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const { terminated } = status.state ?? {};
  return {
    stage: "crashing",
    since: terminated?.finishedAt ?? undefined,
    because: `Container ${container.name} ended with exit code ${terminated?.exitCode} and is about to be started again.`,
    healsByItself: true,
    fix: `read what it said: kubectl logs ${inCommands(facts.pod)} -c ${container.name} --previous`,
  };
}

function explainStarting(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const { startupProbe: probe } = container;
  const since = status.state?.running?.startedAt ?? undefined;
  const failure = lastEvent(facts, "Unhealthy")?.message;
  const { periodSeconds = 10, failureThreshold = 3, initialDelaySeconds = 0 } = probe ?? {};
  const budget = initialDelaySeconds + periodSeconds * failureThreshold;
  const used = since ? Math.round((facts.now - Date.parse(since)) / 1_000) : 0;
  return {
    stage: "starting",
    since,
    because: `Container ${container.name} runs and its startup probe has not succeeded yet: ${used} s of at most ${budget} s are used${failure ? `; ${failure.trim()}` : ""}.`,
    healsByItself: true,
    fix: `if it needs longer, raise startupProbe.failureThreshold; its log: kubectl logs ${inCommands(facts.pod)} -c ${container.name}`,
  };
}

function explainUnready(facts: PodFacts, container: Container, status: ContainerStatus): Explanation {
  const failure = lastEvent(facts, "Unhealthy")?.message?.trim();
  const said = failure ? `: ${failure}` : "";
  return {
    stage: "readiness",
    since: status.state?.running?.startedAt ?? undefined,
    because: `Container ${container.name} has started and is not ready${said}.`,
    healsByItself: true,
    fix: `its log: kubectl logs ${inCommands(facts.pod)} -c ${container.name}`,
  };
}

function fixFor(
  pod: Pod,
  container: Container,
  { reason, message }: { reason: string; message: string },
): string | undefined {
  const flag = namespaceFlag(pod);
  const [, kind, name] = /(configmap|secret) "([^"]+)" not found/.exec(message) ?? [];
  if (name) {
    const what = kind === "secret" ? "secret generic" : "configmap";
    return `create it, and the pod starts by itself: kubectl create ${what} ${name}${flag} --from-literal=KEY=VALUE`;
  }
  const [, key, holder, place] = /couldn't find key (\S+) in (ConfigMap|Secret) (\S+)/.exec(message) ?? [];
  if (key)
    return `add the key ${key}: kubectl edit ${holder?.toLowerCase()} ${place?.split("/").at(-1)}${flag}`;
  switch (reason) {
    case "CrashLoopBackOff":
      return `read what it said before it ended: kubectl logs ${inCommands(pod)} -c ${container.name} --previous`;
    case "ErrImagePull":
    case "ImagePullBackOff":
      return `see that ${container.image} exists and that spec.imagePullSecrets may read it; a corrected name: kubectl set image pod/${pod.metadata.name}${flag} ${container.name}=IMAGE`;
    case "InvalidImageName":
      return `correct the name: kubectl set image pod/${pod.metadata.name}${flag} ${container.name}=IMAGE`;
    case "ErrImageNeverPull":
      return `bring ${container.image} to node ${pod.spec?.nodeName}, or use imagePullPolicy: IfNotPresent in a new pod`;
    default:
      return waitingReasons.get(reason)?.meaning;
  }
}
