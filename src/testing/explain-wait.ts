import type { Client, ObjectKey, ResourceName } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";
import { explainPod } from "../monitor/explain/explain-pod.ts";
import type { Explanation } from "../monitor/explain/explanation.ts";
import { chooseHoldUp } from "../monitor/explain/find-hold-up.ts";
import { gatherFacts } from "../monitor/explain/gather-facts.ts";

export interface ExplainDeps {
  readonly client: Client;
  readonly clock: Clock;
}

/** An object was not in time what somebody waited for. */
export class WaitTimeoutError extends Error {
  /** Of the pod that holds it up, where there is one. */
  readonly explanation: Explanation | undefined;

  constructor(message: string, explanation: Explanation | undefined) {
    super(message);
    this.name = "WaitTimeoutError";
    this.explanation = explanation;
  }
}

/** What `kindling why` says. */
export async function explain(deps: ExplainDeps, key: ObjectKey, signal: AbortSignal): Promise<Explanation> {
  const { namespace = "default", name } = key;
  return explainPod(await gatherFacts(deps, { namespace, name }, signal));
}

/** The pod that keeps an object from being as it should, and why; undefined where there is none. */
export async function explainHoldUp(
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
  return chooseHoldUp(items, revision)?.metadata.name;
}

export function formatExplanation({ stage, because, healsByItself, fix }: Explanation): string {
  const heals = healsByItself ? "It may heal by itself." : "It does not heal by itself.";
  return `${stage}: ${because}\n  ${heals}${fix ? `\n  What helps: ${fix}` : ""}`;
}
