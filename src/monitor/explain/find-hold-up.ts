import type { Pod } from "../../api/objects.ts";
import type { Client, ObjectKey } from "../../client/client.ts";

/** The pod that keeps a StatefulSet from being complete. Throws when there is none to name. */
export async function findHoldUp(
  client: Client,
  { namespace, name }: Required<ObjectKey>,
  signal: AbortSignal,
): Promise<string> {
  const set = await client.get("statefulsets", { namespace, name }, { signal });
  const { items } = await client.list("pods", { namespace, signal });
  const own = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid }) => uid === set.metadata.uid),
  );
  const holdUp = chooseHoldUp(own, set.status?.updateRevision);
  if (holdUp) return holdUp.metadata.name ?? "";
  const wanted = set.spec?.replicas ?? 1;
  const said = set.status?.conditions?.find(({ type }) => type === "Progressing")?.message;
  throw new Error(
    `statefulset ${name} has ${own.length} of ${wanted} pods, all of them ready${said ? `: ${said}` : ""}`,
  );
}

/** The newest revision first, for it is what a rollout waits for; of those the lowest ordinal. */
export function chooseHoldUp(pods: readonly Pod[], updateRevision: string | undefined): Pod | undefined {
  const unready = pods.filter(
    ({ status }) => status?.conditions?.find(({ type }) => type === "Ready")?.status !== "True",
  );
  const isUpdated = ({ metadata }: Pod) => metadata.labels?.["controller-revision-hash"] === updateRevision;
  const byOrdinal = unready.toSorted((a, b) => ordinalOf(a) - ordinalOf(b));
  return byOrdinal.find(isUpdated) ?? byOrdinal[0];
}

function ordinalOf({ metadata }: Pod): number {
  return Number(/-(\d+)$/.exec(metadata.name ?? "")?.[1] ?? 0);
}
