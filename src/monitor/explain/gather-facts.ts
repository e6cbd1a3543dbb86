import type { Pod, StatefulSet } from "../../api/objects.ts";
import { StatusError } from "../../api/status-error.ts";
import type { Client, ObjectKey } from "../../client/client.ts";
import type { Clock } from "../../lib/clock.ts";
import { parsePulls, parseStartup } from "../feed/parse-answers.ts";
import type { PodFacts } from "./explanation.ts";

/** Asks the cluster, whichever it is, for what it has about a pod. Throws when there is no such pod. */
export async function gatherFacts(
  { client, clock }: { readonly client: Client; readonly clock: Clock },
  key: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<PodFacts> {
  const pod = await client.get("pods", key, { signal });
  const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${key.name}`;
  const node = pod.spec?.nodeName;
  const ask = (page: string) => node && askKubelet(client, { ...key, node, page }, signal);
  const [events, pulls, startup] = await Promise.all([
    client.list("events", { namespace: key.namespace, fieldSelector, signal }).then(({ items }) => items),
    ask("imagePullProgress"),
    ask("startupProbes"),
  ]);
  const uid = pod.metadata.uid;
  return {
    pod,
    events: events.filter((event) => event.involvedObject.uid === uid),
    pulls: parsePulls(pulls),
    ...parseStartup(startup),
    now: clock.now(),
  };
}

/** Only Kindling's kubelet has it, and only some callers may ask; all others see the events alone. */
async function askKubelet(
  client: Client,
  { node, page, namespace, name }: Required<ObjectKey> & { readonly node: string; readonly page: string },
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const path = `/api/v1/nodes/${node}/proxy/${page}/${namespace}/${name}`;
    return await client.request<unknown>("GET", path, { signal });
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

/** A StatefulSet and the pods that are its own. Throws when there is no such set. */
export async function gatherSet(
  client: Client,
  { namespace, name }: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<{ readonly set: StatefulSet; readonly pods: readonly Pod[] }> {
  const set = await client.get("statefulsets", { namespace, name }, { signal });
  const { items } = await client.list("pods", { namespace, signal });
  const pods = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid),
  );
  return { set, pods };
}
