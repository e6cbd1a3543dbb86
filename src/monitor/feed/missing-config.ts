import type { Container, Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { containersAfter, failingInit } from "../../explain/explain-init.ts";
import type { MissingObject } from "../../explain/explanation.ts";

/** Maximum number of objects that are looked up for one pod. */
const maxObjects = 20;

/**
 * Finds ConfigMaps and Secrets that do not exist and that containers need which wait for a failing init container. Only
 * metadata is requested, no content. What the caller may not read counts as existing.
 */
export async function findMissingConfig(
  client: Pick<Client, "request">,
  { pod, now }: { readonly pod: Pod; readonly now: number },
  signal: AbortSignal,
): Promise<readonly MissingObject[]> {
  const failing = failingInit(pod, now);
  if (!failing) return [];
  const { namespace = "default" } = pod.metadata;
  const needed = neededObjects(containersAfter(pod, failing.name)).slice(0, maxObjects);
  const isMissing = await Promise.all(
    needed.map(async ({ kind, name }) => {
      const path = `/api/v1/namespaces/${namespace}/${kind}s/${name}`;
      const headers = { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" };
      try {
        await client.request("GET", path, { headers, signal });
        return false;
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        return error.code === 404;
      }
    }),
  );
  return needed.filter((_, index) => isMissing[index]);
}

/** Objects that the environment of the containers refers to and that are not optional, each with its containers. */
function neededObjects(containers: readonly Container[]): readonly MissingObject[] {
  const found = new Map<string, MissingObject>();
  for (const container of containers) {
    for (const { kind, name } of references(container)) {
      const key = `${kind}/${name}`;
      const before = found.get(key)?.containers ?? [];
      found.set(key, { kind, name, containers: [...new Set([...before, container.name])] });
    }
  }
  return [...found.values()];
}

type Reference = Pick<MissingObject, "kind" | "name">;

function references({ env = [], envFrom = [] }: Container): readonly Reference[] {
  const sources: readonly [
    MissingObject["kind"],
    { name?: string; optional?: boolean } | null | undefined,
  ][] = [
    ...envFrom.flatMap(({ configMapRef, secretRef }) => [
      ["configmap", configMapRef] as const,
      ["secret", secretRef] as const,
    ]),
    ...env.flatMap(({ valueFrom }) => [
      ["configmap", valueFrom?.configMapKeyRef] as const,
      ["secret", valueFrom?.secretKeyRef] as const,
    ]),
  ].map(([kind, source]) => [kind, source]);
  return sources.flatMap(([kind, source]) =>
    source?.name && !source.optional ? { kind, name: source.name } : [],
  );
}
