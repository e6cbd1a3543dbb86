import type { Volume } from "../../api/objects.ts";
import type { ReferencedObjects } from "../referenced-objects.ts";
import { configMapPayload } from "./config-map.ts";
import { downwardPayload } from "./downward-api.ts";
import type { Payload } from "./payload.ts";
import { projectedPayload } from "./projected.ts";
import { secretPayload } from "./secret.ts";
import type { ServiceAccountTokens } from "./service-account-tokens.ts";
import type { NodeFacts, VolumeRequest } from "./volume-request.ts";

export interface ContentKind {
  /** Upstream's name of it on the disk. */
  readonly directory: string;
  readonly inMemory: boolean;
}

/** How a volume whose files come from the API is kept; undefined for every other kind. */
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
  readonly node: () => NodeFacts;
}

/** The files that a volume should have now. */
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
