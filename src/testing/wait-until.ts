import type { KubeObject } from "../api/meta/objects.ts";
import { StatusError } from "../api/meta/status-error.ts";
import type { Client, ObjectKey, ObjectTypes, ResourceName } from "../client/api/client.ts";
import { TransportError } from "../client/transport/transport.ts";
import { explainPod } from "../explain/explain-pod.ts";
import type { Explanation } from "../explain/explanation.ts";
import { findBlockingPod } from "../explain/stateful-set-pods.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { gatherFacts } from "../monitor/feed/gather-facts.ts";

/** Retry delay while the server is unreachable. */
const retryDelayMs = 50;

/**
 * Watches an object until `isDone` returns true for it, or for undefined if it does not exist. Retries after outages.
 * Rejects with the signal's reason.
 */
export async function waitUntil<Name extends ResourceName>(
  client: Client,
  { resource, key }: { readonly resource: Name; readonly key: ObjectKey },
  {
    isDone,
    signal,
  }: { isDone(object: ObjectTypes[Name] | undefined): boolean; readonly signal: AbortSignal },
): Promise<ObjectTypes[Name] | undefined> {
  const selection = { namespace: key.namespace, fieldSelector: `metadata.name=${key.name}`, signal };
  for (;;) {
    try {
      const { items, resourceVersion } = await client.list(resource, selection);
      if (isDone(items[0])) return items[0];
      for await (const event of client.watch(resource, { ...selection, resourceVersion })) {
        if (event.type === "BOOKMARK") continue;
        const object = event.type === "DELETED" ? undefined : event.object;
        if (isDone(object)) return object;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (isPermanent(error)) throw error;
      await systemClock.sleep(retryDelayMs, signal);
    }
  }
}

/** Whether the server rejected the request, or the caller's function threw. */
function isPermanent(error: unknown): boolean {
  if (error instanceof StatusError) return error.code < 500 && error.code !== 410 && error.code !== 429;
  return !(error instanceof TransportError);
}

/** Parses `Ready` or `Ready=False` into a predicate. */
export function hasCondition(condition: string): (object: KubeObject) => boolean {
  const [type = "", status = "True"] = condition.split("=");
  if (!/^[A-Za-z][\w./-]*$/.test(type) || !/^(True|False|Unknown)$/.test(status))
    throw new TypeError(
      `${JSON.stringify(condition)} is not a condition: use Type or Type=Status, like Ready or Ready=False`,
    );
  return (object) => conditionsOf(object).some((each) => each.type === type && each.status === status);
}

function conditionsOf(object: object): readonly { readonly type: string; readonly status: string }[] {
  const { status } = object as {
    readonly status?: { readonly conditions?: { type: string; status: string }[] };
  };
  return status?.conditions ?? [];
}

export interface ExplainDeps {
  readonly client: Client;
  readonly clock: Clock;
}

/** An object did not reach the expected state in time. */
export class WaitTimeoutError extends Error {
  /** Explanation of the blocking pod, if there is one. */
  readonly explanation: Explanation | undefined;

  constructor(message: string, explanation: Explanation | undefined) {
    super(message);
    this.name = "WaitTimeoutError";
    this.explanation = explanation;
  }
}

/** Explains a pod like `kindling why`. */
export async function explain(deps: ExplainDeps, key: ObjectKey, signal: AbortSignal): Promise<Explanation> {
  const { namespace = "default", name } = key;
  return explainPod(await gatherFacts(deps, { namespace, name }, signal));
}

/** Finds and explains the pod that blocks an object. Undefined if there is none. */
export async function explainBlockingPod(
  deps: ExplainDeps,
  { resource, key }: { readonly resource: ResourceName; readonly key: ObjectKey },
  signal: AbortSignal,
): Promise<{ readonly pod: string; readonly explanation: Explanation } | undefined> {
  const name = resource === "pods" ? key.name : await findPodOf(deps.client, { resource, key }, signal);
  return name === undefined
    ? undefined
    : { pod: name, explanation: await explain(deps, { ...key, name }, signal) };
}

async function findPodOf(
  client: Client,
  { resource, key }: { readonly resource: ResourceName; readonly key: ObjectKey },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (resource !== "statefulsets" && resource !== "deployments" && resource !== "replicasets")
    return undefined;
  const { spec, status } = await client.get(resource, key, { signal });
  const labels = Object.entries(spec?.selector.matchLabels ?? {});
  const labelSelector = labels.map(([label, value]) => `${label}=${value}`).join(",");
  const { items } = await client.list("pods", { namespace: key.namespace, labelSelector, signal });
  const revision = status && "updateRevision" in status ? status.updateRevision : undefined;
  return findBlockingPod(items, revision)?.metadata.name;
}

export function formatExplanation({ stage, because, isTransient, fix, logs = [] }: Explanation): string {
  const outlook = isTransient
    ? "This may resolve without a change."
    : "This does not resolve without a change.";
  const lines = [
    `${stage}: ${because}`,
    outlook,
    ...logs.flatMap(({ container, lines }) => [`Last lines of the log of container ${container}:`, ...lines]),
    ...(fix?.split("\n") ?? []).map((each) => `Fix: ${each}`),
  ];
  return lines.join("\n  ");
}
