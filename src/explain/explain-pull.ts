import type { Container, Event } from "../api/meta/objects.ts";
import { findContainer } from "../api/pod/pod-containers.ts";
import { formatBytes } from "../lib/format-bytes.ts";
import { describeCause, type Failure, findCause } from "./causes.ts";
import { namespaceFlag } from "./commands.ts";
import { inWords } from "./explain-crash.ts";
import {
  type Explanation,
  eventsOf,
  type KnownPull,
  lastEvent,
  type PodFacts,
  sentence,
} from "./explanation.ts";

/** Explains a running pull with the progress that the kubelet or a node agent reports. */
export function explainPull(facts: PodFacts, pull: KnownPull): Explanation {
  const { container, image, startedAt, oneOf } = pull;
  const stall = findStall(facts, container);
  if (stall) return explainStall(facts, { container, since: startedAt, message: stall });
  const what = oneOf ? `One of the images ${oneOf.join(" and ")}` : `The image ${image}`;
  return {
    stage: "pulling",
    since: startedAt,
    because: `${what} is being pulled: ${describeProgress(facts, pull)}.`,
    isTransient: true,
    resolvesWhen: "when the image is pulled",
    fix: undefined,
  };
}

function describeProgress(facts: PodFacts, pull: KnownPull): string {
  const { startedAt, offset, total, layers = [], queued } = pull;
  if (queued) {
    const amount =
      total > 0 ? `${mebibytes(offset)} of ${mebibytes(total)} MiB` : "its size is not known yet";
    return `${amount}; it waits for other pulls of node ${facts.pod.spec?.nodeName}`;
  }
  if (offset === 0 && total === 0) {
    const runtime = runtimeOf(facts);
    if (runtime?.startsWith("kindling://")) return "the registry has not sent any data yet";
    return `its progress is not known, because ${runtime ? `the runtime ${runtime}` : "the runtime"} has not reported any`;
  }
  const seconds = Math.max(1, (facts.now - Date.parse(startedAt)) / 1_000);
  const rate = offset / seconds;
  const left = rate > 0 && total > offset ? `, about ${inWords((total - offset) / rate)} left` : "";
  const amount = total > 0 ? `${mebibytes(offset)} of ${mebibytes(total)} MiB` : `${mebibytes(offset)} MiB`;
  const active = layers.filter((layer) => layer.stage === "downloading" && layer.offset < layer.total);
  const layer = layers.length > 1 && active.length === 1 ? active[0] : undefined;
  return `${amount}${left}${layer ? `; ${formatBytes(layer.offset)} of ${formatBytes(layer.total)} of layer ${shortDigest(layer.layer)}` : ""}`;
}

function runtimeOf({ node }: PodFacts): string | undefined {
  return node?.kind === "found" ? node.object.status?.nodeInfo?.containerRuntimeVersion : undefined;
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0);
}

function shortDigest(digest: string): string {
  return digest.replace(/^(sha256:)?([0-9a-f]{12})[0-9a-f]*$/, "$2");
}

/** Message of a pull for which no data arrives, if that is the last event about the container's image. */
function findStall(facts: PodFacts, container: string): string | undefined {
  const event = lastEvent(
    { events: eventsOf(facts, container) },
    "Pulling",
    "Pulled",
    "Failed",
    "PullStalled",
  );
  return event?.reason === "PullStalled" ? event.message : undefined;
}

function explainStall(
  { pod }: PodFacts,
  stall: { readonly container: string; readonly since: string | undefined; readonly message: string },
): Explanation {
  const { since, message } = stall;
  const container = findContainer(pod.spec, stall.container);
  const { fix } = describeCause({ reason: "ErrImagePull", message }, { pod, container });
  return {
    stage: "pulling",
    since,
    because: sentence(message.replace(/; check .*$/, "")),
    isTransient: true,
    resolvesWhen: "when the registry sends data again",
    fix,
  };
}

/** Explains a pull that only the events of its kubelet report. */
export function explainPullEvent(facts: PodFacts, container: Container, event: Event): Explanation {
  const stall = findStall(facts, container.name);
  if (stall) {
    const since = event.firstTimestamp ?? event.eventTime ?? undefined;
    return explainStall(facts, { container: container.name, since, message: stall });
  }
  const words = event.message ?? `Pulling image "${container.image}"`;
  return {
    stage: "pulling",
    since: event.firstTimestamp ?? event.eventTime ?? event.lastTimestamp ?? undefined,
    because: `${words}. Its progress is not known: only Kindling's kubelet and node agent report it.`,
    isTransient: true,
    resolvesWhen: "when the image is pulled",
    fix: undefined,
  };
}

/** Failure with the whole message of the pull, which the kubelet shortens during back-off. */
export function pullFailure(facts: PodFacts, container: Container, failure: Failure): Failure {
  if (findCause(failure)?.name !== "ImagePullFailed") return failure;
  const pull = lastEvent({ events: failedPulls(facts, container) }, "Failed");
  return pull ? { ...failure, message: pull.message ?? "" } : failure;
}

/** Number of failed pulls of the container's image that its events count. */
export function countFailedPulls(facts: PodFacts, container: Container): number {
  return failedPulls(facts, container).reduce((sum, { count }) => sum + (count ?? 1), 0);
}

function failedPulls(facts: PodFacts, container: Container): readonly Event[] {
  return eventsOf(facts, container.name).filter(({ message }) => message?.startsWith("Failed to pull image"));
}

/** Causes that credentials may resolve. Registries report private images as missing, too. */
const credentialCauses = new Set(["ImageNotFound", "ImagePullDenied", "ImagePullFailed"]);

/** Missing image pull secrets that the kubelet reports, if they may be the cause of a failed pull. */
function missingPullSecrets(
  facts: PodFacts,
  failure: Failure,
): { readonly explanation: string; readonly fixes: readonly string[] } | undefined {
  if (!credentialCauses.has(findCause(failure)?.name ?? "")) return undefined;
  const event = lastEvent(facts, "FailedToRetrieveImagePullSecret");
  const [, list] = /image pull secrets \(([^)]+)\)/.exec(event?.message ?? "") ?? [];
  if (!list) return undefined;
  const names = list.split(/,\s*/);
  const what = names.length === 1 ? "secret" : "secrets";
  return {
    explanation: `The kubelet cannot read the image pull ${what} ${names.join(", ")}`,
    fixes: names.map(
      (name) =>
        `create the image pull secret: kubectl create secret docker-registry ${name}${namespaceFlag(facts.pod)} --docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD`,
    ),
  };
}

/** Explanation and fixes of a failed pull. */
export function describePullFailure(
  facts: PodFacts,
  container: Container,
  failure: Failure,
): { readonly explanation: string; readonly fixes: readonly string[] } {
  const { explanation, fix } = describeCause(failure, { pod: facts.pod, container });
  const secrets = missingPullSecrets(facts, failure);
  if (!secrets) return { explanation, fixes: [fix] };
  return {
    explanation: [explanation, secrets.explanation].filter(Boolean).join(". "),
    fixes: [...secrets.fixes, fix],
  };
}
