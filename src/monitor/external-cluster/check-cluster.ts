import type { Client } from "../../client/api/client.ts";
import type { Logger } from "../../lib/logger.ts";

/** Permission that the monitor needs, as granted by the ClusterRole in examples/prometheus/cluster-role.yaml. */
interface RequiredPermission {
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Consequence of lacking the permission, as a clause for the log. */
  readonly without: string;
  readonly neededFor: "everything" | "a part" | "non-loopback listeners";
}

const read = ["list", "watch"];

export const requiredPermissions: readonly RequiredPermission[] = [
  { verbs: read, group: "", resource: "pods", without: "nothing is measured", neededFor: "everything" },
  {
    verbs: read,
    group: "",
    resource: "events",
    without: "pulls are not measured, and missing Secrets and ConfigMaps are not recognized as user errors",
    neededFor: "a part",
  },
  {
    verbs: read,
    group: "",
    resource: "persistentvolumeclaims",
    without: "starts are not grouped by StorageClass",
    neededFor: "a part",
  },
  { verbs: read, group: "", resource: "nodes", without: "the dashboard shows no nodes", neededFor: "a part" },
  {
    verbs: read,
    group: "apps",
    resource: "statefulsets",
    without: "the dashboard shows no StatefulSets",
    neededFor: "a part",
  },
  {
    verbs: ["get"],
    group: "",
    resource: "nodes",
    subresource: "proxy",
    without: "the dashboard shows neither layers of pulls nor failures of startup probes",
    neededFor: "a part",
  },
  {
    verbs: ["create"],
    group: "authentication.k8s.io",
    resource: "tokenreviews",
    without: "requests with a token are rejected by the dashboard and the metrics endpoint",
    neededFor: "non-loopback listeners",
  },
  {
    verbs: ["create"],
    group: "authorization.k8s.io",
    resource: "subjectaccessreviews",
    without: "every request to the dashboard and the metrics endpoint is rejected",
    neededFor: "non-loopback listeners",
  },
];

/** `list and watch pods`, `get nodes/proxy` */
function describePermission({ verbs, group, resource, subresource }: RequiredPermission): string {
  const name = `${resource}${group && `.${group}`}${subresource ? `/${subresource}` : ""}`;
  return `${verbs.join(" and ")} ${name}`;
}

export interface CheckClusterDeps {
  readonly client: Pick<Client, "request">;
  readonly logger: Logger;
  /** Whether the monitor listens on loopback only, where callers are not authenticated. */
  readonly isOnLoopback: boolean;
}

/** First minor release whose kubelets report PodReadyToStartContainers by default. */
const firstMinor = 29;

/**
 * Logs a warning for each reason why the monitor cannot measure this cluster completely: an old release, or missing
 * permissions. The monitor keeps running, because both can change.
 */
export async function checkCluster(deps: CheckClusterDeps, signal: AbortSignal): Promise<void> {
  const { client, logger } = deps;
  const { major, minor } = await client.request<{ major?: unknown; minor?: unknown }>("GET", "/version", {
    signal,
  });
  const missing: RequiredPermission[] = [];
  for (const permission of requiredPermissions) {
    if (permission.neededFor === "non-loopback listeners" && deps.isOnLoopback) continue;
    if (!(await hasPermission(client, permission, signal))) missing.push(permission);
  }
  const sentence = describeRelease(String(major), String(minor));
  if (sentence) logger.warn(sentence);
  for (const permission of missing) {
    const log = permission.neededFor === "a part" ? logger.warn : logger.error;
    log(
      `the monitor is not allowed to ${describePermission(permission)} in all namespaces, so ${permission.without}; ` +
        "bind its user to the ClusterRole in examples/prometheus/cluster-role.yaml",
    );
  }
}

/** Returns a warning for releases that are too old. Some distributions append `+` to the minor version. */
export function describeRelease(major: string, minor: string): string | undefined {
  const number = Number.parseInt(minor, 10);
  if (major !== "1" || Number.isNaN(number) || number >= firstMinor) return undefined;
  const named =
    number >= 28
      ? "only if the kubelets enable the feature gate PodReadyToStartContainersCondition"
      : "not at all: its kubelets lack the condition PodReadyToStartContainers (PodHasNetwork of 1.25 to 1.27 is not read)";
  return `this cluster runs Kubernetes 1.${number}, older than the required 1.${firstMinor}: sandbox times can be measured ${named}`;
}

async function hasPermission(
  client: Pick<Client, "request">,
  { verbs, group, resource, subresource }: RequiredPermission,
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
