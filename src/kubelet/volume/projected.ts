import { Buffer } from "node:buffer";
import type { Pod, Volume } from "../../api/objects.ts";
import type { ReferencedObjects } from "../referenced-objects.ts";
import { collectErrors } from "./collect-errors.ts";
import { configMapPayload } from "./config-map.ts";
import { downwardPayload } from "./downward-api.ts";
import { type Payload, type ProjectedFile, usualMode } from "./payload.ts";
import { secretPayload } from "./secret.ts";
import type { ServiceAccountTokens } from "./service-account-tokens.ts";

type ProjectedSource = NonNullable<Volume["projected"]>;
type Projection = NonNullable<ProjectedSource["sources"]>[number];

export interface ProjectionDeps {
  readonly objects: Pick<ReferencedObjects, "getConfigMap" | "getSecret">;
  readonly tokens: ServiceAccountTokens;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** The files of all sources together; where two have the same path the later one counts. */
export async function projectedPayload(
  deps: ProjectionDeps,
  pod: Pod,
  { sources, defaultMode }: ProjectedSource,
): Promise<Payload> {
  const results = await Promise.allSettled(
    (sources ?? []).map((source) => projectSource(deps, pod, source, defaultMode ?? usualMode)),
  );
  deps.signal.throwIfAborted();
  const errors = collectErrors();
  const payload = new Map<string, ProjectedFile>();
  for (const result of results) {
    if (result.status === "rejected") errors.add(result.reason);
    else for (const [path, file] of result.value) payload.set(path, file);
  }
  errors.throwAny();
  return payload;
}

async function projectSource(
  { objects, tokens, allocatable, signal }: ProjectionDeps,
  pod: Pod,
  source: Projection,
  defaultMode: number,
): Promise<Payload> {
  const namespace = pod.metadata.namespace ?? "";
  if (source.secret) {
    const secret = await objects.getSecret(namespace, source.secret.name ?? "", signal);
    return secretPayload(secret, { ...source.secret, defaultMode });
  }
  if (source.configMap) {
    const configMap = await objects.getConfigMap(namespace, source.configMap.name ?? "", signal);
    return configMapPayload(configMap, { ...source.configMap, defaultMode });
  }
  if (source.downwardAPI) return downwardPayload(pod, { ...source.downwardAPI, defaultMode }, allocatable);
  if (source.serviceAccountToken) {
    const token = await tokens.get(pod, source.serviceAccountToken, signal);
    const file = { data: Buffer.from(token), ...tokenAccess(pod, defaultMode) };
    return new Map([[source.serviceAccountToken.path, file]]);
  }
  const kind = Object.keys(source).join(", ") || "an empty source";
  throw new Error(`${kind} is not supported by this kubelet as a source of a projected volume`);
}

/** A token is for its pod alone: only who runs the containers can read it, where that is known. */
function tokenAccess(pod: Pod, defaultMode: number): Pick<ProjectedFile, "mode" | "uid"> {
  const uid = commonUser(pod);
  const hasGroup = pod.spec?.securityContext?.fsGroup !== undefined;
  return { mode: uid !== undefined || hasGroup ? 0o600 : defaultMode, uid };
}

/** The user that all containers run as, when the pod says it for each and they agree. */
function commonUser(pod: Pod): number | undefined {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const ofPod = pod.spec?.securityContext?.runAsUser;
  const users = [...initContainers, ...containers, ...ephemeralContainers].map(
    (container) => container.securityContext?.runAsUser ?? ofPod,
  );
  return users.every((user) => user === users[0]) ? users[0] : undefined;
}
