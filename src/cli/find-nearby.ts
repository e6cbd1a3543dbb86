import { StatusError } from "../api/status-error.ts";
import type { Client } from "../client/client.ts";
import type { Nearby, Target } from "./suggest-target.ts";

/** Enough to find what was meant by, and little to ask of a large cluster. */
const limit = 500;

/** Looks for what may have been meant by a name that is not there. Whatever the user may not see is left out. */
export async function findNearby(
  client: Client,
  { kind, name, namespace }: Target & { readonly namespace: string },
  signal: AbortSignal,
): Promise<Nearby> {
  const find = async (
    resource: "pods" | "statefulsets",
    where: { readonly namespace?: string; readonly fieldSelector?: string },
  ) => {
    try {
      return (await client.list(resource, { ...where, limit, signal })).items;
    } catch (error) {
      if (error instanceof StatusError) return [];
      throw error;
    }
  };
  const fieldSelector = `metadata.name=${name}`;
  const [same, pods, statefulSets] = await Promise.all([
    find(kind === "pod" ? "pods" : "statefulsets", { fieldSelector }),
    find("pods", { namespace }),
    find("statefulsets", { namespace }),
  ]);
  const names = (items: typeof same) => items.flatMap(({ metadata }) => metadata.name ?? []);
  return {
    namespaces: same.flatMap(({ metadata }) => metadata.namespace ?? []),
    pods: names(pods),
    statefulSets: names(statefulSets),
  };
}
