import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../../api/objects.ts";

export type EndpointSubset = Wire<k8s.V1EndpointSubset>;

/** More addresses than this go into slices only. */
const maxAddresses = 1_000;

/** Cuts what is too much, from each subset its share; those that are not ready go first. */
export function truncateSubsets(subsets: readonly EndpointSubset[]): {
  readonly subsets: EndpointSubset[];
  readonly truncated: boolean;
} {
  const count = (field: "addresses" | "notReadyAddresses") =>
    subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
  const ready = count("addresses");
  const notReady = count("notReadyAddresses");
  if (ready + notReady <= maxAddresses) return { subsets: [...subsets], truncated: false };

  const field = ready > maxAddresses ? "addresses" : "notReadyAddresses";
  const room = field === "addresses" ? maxAddresses : maxAddresses - ready;
  const total = field === "addresses" ? ready : notReady;
  let left = room;
  const cut = subsets.map(({ addresses = [], notReadyAddresses = [], ports }): EndpointSubset => {
    const all = field === "addresses" ? addresses : notReadyAddresses;
    const kept = all.slice(0, Math.min(left, Math.ceil((all.length / total) * room)));
    left -= kept.length;
    const rest = field === "addresses" ? { addresses: kept } : { addresses, notReadyAddresses: kept };
    return {
      ...Object.fromEntries(Object.entries(rest).filter(([, list]) => list.length > 0)),
      ...(ports && { ports }),
    };
  });
  return { subsets: cut.filter((subset) => subset.addresses ?? subset.notReadyAddresses), truncated: true };
}
