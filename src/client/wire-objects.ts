import type { KubeObject } from "../api/objects.ts";
import { apiVersionOf, type Resource } from "../api/resources.ts";
import type { ObjectList, WatchEvent } from "./client.ts";
import { readStatusError } from "./read-status-error.ts";
import { TransportError } from "./transport.ts";

// The edge at which a server's JSON becomes typed objects. It is trusted to serve the kinds that it is asked for; what is
// looked at here is only what this client itself goes by.

export function readObjectList<T extends KubeObject>(
  resource: Resource,
  { envelope, items }: { envelope: unknown; items: readonly unknown[] },
): ObjectList<T> {
  const { resourceVersion, continue: next } = metadataOf(envelope);
  if (typeof resourceVersion !== "string") {
    throw new TransportError(`the server's list of ${resource.plural} has no resourceVersion`);
  }
  const objects = items as T[];
  // Items of a list do not say their kind: the list has said it for all of them.
  const apiVersion = apiVersionOf(resource);
  for (const object of objects) {
    object.apiVersion ??= apiVersion;
    object.kind ??= resource.kind;
  }
  return { items: objects, resourceVersion, ...(typeof next === "string" && next && { continue: next }) };
}

/** Undefined for a type of a later API. */
export function readWatchEvent<T extends KubeObject>(line: unknown): WatchEvent<T> | undefined {
  const { type, object } = isRecord(line) ? line : {};
  const { resourceVersion } = metadataOf(object);
  switch (type) {
    case "ERROR":
      throw readStatusError({ code: 500, body: object, request: "watch" });
    case "BOOKMARK":
      return typeof resourceVersion === "string" ? { type, resourceVersion } : undefined;
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      if (typeof resourceVersion !== "string") {
        throw new TransportError("the server sent a watch event without a resourceVersion");
      }
      return { type, object: object as T };
    default:
      return undefined;
  }
}

function metadataOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) && isRecord(value.metadata) ? value.metadata : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
