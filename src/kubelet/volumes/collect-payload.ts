import { Buffer } from "node:buffer";
import type { ConfigMap, Pod, Secret, Volume } from "../../api/meta/objects.ts";
import { fieldValue, resourceField } from "../model/downward-api.ts";
import type { ReferencedObjects } from "../model/referenced-objects.ts";
import {
  collectErrors,
  type KeySelection,
  type Payload,
  type ProjectedFile,
  selectKeys,
  usualMode,
} from "./payload.ts";
import type { ServiceAccountTokens } from "./service-account-tokens.ts";
import type { VolumeNodeFacts, VolumeRequest } from "./volume-request.ts";

export interface ContentKind {
  /** Upstream's directory name for the volume type. */
  readonly directory: string;
  readonly inMemory: boolean;
}

/** Returns how to store a volume whose files come from the API. Undefined for other types. */
export function contentKind(volume: Volume): ContentKind | undefined {
  if (volume.configMap) return { directory: "configmap", inMemory: false };
  if (volume.secret) return { directory: "secret", inMemory: true };
  if (volume.projected) return { directory: "projected", inMemory: true };
  if (volume.downwardAPI) return { directory: "downward-api", inMemory: true };
  return undefined;
}

export interface PayloadDeps {
  readonly objects: Pick<ReferencedObjects, "getConfigMap" | "getSecret">;
  readonly tokens: ServiceAccountTokens;
  readonly node: () => VolumeNodeFacts;
}

/** Collects the current files of a volume. */
export async function collectPayload(deps: PayloadDeps, request: VolumeRequest): Promise<Payload> {
  const { pod, volume, signal } = request;
  const { objects, tokens } = deps;
  const namespace = pod.metadata.namespace ?? "";
  if (volume.configMap) {
    const { name = "" } = volume.configMap;
    return configMapPayload(await objects.getConfigMap(namespace, name, signal), volume.configMap);
  }
  if (volume.secret) {
    const { secretName: name = "", ...selection } = volume.secret;
    return secretPayload(await objects.getSecret(namespace, name, signal), { ...selection, name });
  }
  const { allocatable } = deps.node();
  if (volume.projected) {
    return projectedPayload({ objects, tokens, allocatable, signal }, pod, volume.projected);
  }
  return downwardPayload(pod, volume.downwardAPI ?? {}, allocatable);
}

/** Returns the files of a ConfigMap. A missing optional one has no files. */
export function configMapPayload(
  configMap: ConfigMap | undefined,
  selection: KeySelection & { readonly name?: string },
): Payload {
  if (!configMap && !selection.optional) throw new Error(`configmap "${selection.name ?? ""}" not found`);
  const data = new Map<string, Buffer>();
  // As upstream, `data` takes precedence over `binaryData`.
  for (const [key, value] of Object.entries(configMap?.binaryData ?? {})) {
    data.set(key, Buffer.from(value, "base64"));
  }
  for (const [key, value] of Object.entries(configMap?.data ?? {})) data.set(key, Buffer.from(value));
  return selectKeys(data, selection, (key) => `configmap references non-existent config key: ${key}`);
}

/** Returns the files of a Secret. A missing optional one has no files. */
export function secretPayload(
  secret: Secret | undefined,
  selection: KeySelection & { readonly name?: string },
): Payload {
  if (!secret && !selection.optional) throw new Error(`secret "${selection.name ?? ""}" not found`);
  const entries = Object.entries(secret?.data ?? {});
  const data = new Map(entries.map(([key, value]) => [key, Buffer.from(value, "base64")]));
  return selectKeys(data, selection, (key) => `references non-existent secret key: ${key}`);
}

export interface DownwardSource {
  readonly items?: readonly {
    readonly path: string;
    readonly mode?: number;
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: Parameters<typeof resourceField>[1];
  }[];
  readonly defaultMode?: number;
}

/** Returns the files of a downward API volume. */
export function downwardPayload(
  pod: Pod,
  source: DownwardSource,
  allocatable: Readonly<Record<string, string>>,
): Payload {
  const payload = new Map<string, ProjectedFile>();
  const errors = collectErrors();
  for (const { path, mode, fieldRef, resourceFieldRef } of source.items ?? []) {
    errors.try(() => {
      let text = "";
      if (fieldRef) text = fieldValue(pod, fieldRef.fieldPath);
      else if (resourceFieldRef)
        text = resourceField({ pod, container: { name: "" }, allocatable }, resourceFieldRef);
      payload.set(path, { data: Buffer.from(text), mode: mode ?? source.defaultMode ?? usualMode });
    });
  }
  errors.throwAny();
  return payload;
}

type ProjectedSource = NonNullable<Volume["projected"]>;
type Projection = NonNullable<ProjectedSource["sources"]>[number];

interface ProjectionDeps {
  readonly objects: Pick<ReferencedObjects, "getConfigMap" | "getSecret">;
  readonly tokens: ServiceAccountTokens;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Merges the files of all sources. For equal paths, the later source is used. */
async function projectedPayload(
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

/** Returns the mode and owner of a token file. If all containers have the same user, only that user can read it. */
function tokenAccess(pod: Pod, defaultMode: number): Pick<ProjectedFile, "mode" | "uid"> {
  const uid = commonUser(pod);
  const hasGroup = pod.spec?.securityContext?.fsGroup !== undefined;
  return { mode: uid !== undefined || hasGroup ? 0o600 : defaultMode, uid };
}

/** Returns the user of all containers if it is specified and equal for all. */
function commonUser(pod: Pod): number | undefined {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const ofPod = pod.spec?.securityContext?.runAsUser;
  const users = [...initContainers, ...containers, ...ephemeralContainers].map(
    (container) => container.securityContext?.runAsUser ?? ofPod,
  );
  return users.every((user) => user === users[0]) ? users[0] : undefined;
}
