import type { Client } from "../../client/client.ts";
import type { Logger } from "../../lib/logger.ts";
import { describeRight, type NeededRight, neededRights } from "./needed-rights.ts";

export interface CheckClusterDeps {
  readonly client: Pick<Client, "request">;
  readonly logger: Logger;
  /** Whether callers have to be reviewed. */
  readonly isOnLoopback: boolean;
}

/** The first release whose kubelets write PodReadyToStartContainers unless they are told not to. */
const firstMinor = 29;

/**
 * Says once, in words that help, what of this cluster keeps the monitor from its work: an old release, or rights that
 * it lacks. It works on all the same: both can change while it runs.
 */
export async function checkCluster(deps: CheckClusterDeps, signal: AbortSignal): Promise<void> {
  const { client, logger } = deps;
  const { major, minor } = await client.request<{ major?: unknown; minor?: unknown }>("GET", "/version", {
    signal,
  });
  const missing: NeededRight[] = [];
  for (const right of neededRights) {
    if (right.weight === "elsewhere than on loopback" && deps.isOnLoopback) continue;
    if (!(await hasRight(client, right, signal))) missing.push(right);
  }
  const sentence = describeRelease(String(major), String(minor));
  if (sentence) logger.warn(sentence);
  for (const right of missing) {
    const log = right.weight === "a part" ? logger.warn : logger.error;
    log(
      `the monitor may not ${describeRight(right)} in the whole cluster, so ${right.without}: ` +
        "give its user the ClusterRole of examples/prometheus/cluster-role.yaml",
    );
  }
}

/** A sentence about a release that is too old; some write `29+` for the minor one. */
export function describeRelease(major: string, minor: string): string | undefined {
  const number = Number.parseInt(minor, 10);
  if (major !== "1" || Number.isNaN(number) || number >= firstMinor) return undefined;
  const named =
    number >= 28
      ? "only with the feature gate PodReadyToStartContainersCondition of its kubelets"
      : "not: its kubelets have no condition PodReadyToStartContainers (PodHasNetwork, of 1.25 to 1.27, is not read)";
  return `this cluster is of release 1.${number}, and 1.${firstMinor} or later is wanted: sandboxes can be measured ${named}`;
}

async function hasRight(
  client: Pick<Client, "request">,
  { verbs, group, resource, subresource }: NeededRight,
  signal: AbortSignal,
): Promise<boolean> {
  for (const verb of verbs) {
    const spec = { resourceAttributes: { verb, group, resource, ...(subresource && { subresource }) } };
    const review = await client.request<{ status?: { allowed?: unknown } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      { body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec }, signal },
    );
    if (review.status?.allowed !== true) return false;
  }
  return true;
}
