import { convertEventToCore, convertEventToNew } from "../../../api/kinds/core/event/convert-event.ts";
import { newEventKind } from "../../../api/kinds/core/event/kind.ts";
import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";

/**
 * Converts an object between two served versions of its kind. Objects of requests are in the request's version, except that
 * events are always those of the core group.
 */
export async function convertVersion(
  object: KubeObject,
  from: KindDefinition,
  to: KindDefinition,
): Promise<KubeObject> {
  if (from === to) return object;
  if (!from.conversion || !to.conversion) return object;
  const stored = await from.conversion.toStored(structuredClone(object));
  const needsWebhook = to.conversion.needsWebhook(stored.apiVersion);
  const [converted = stored] = needsWebhook ? await to.conversion.convert([stored]) : [stored];
  return to.conversion.toServed(structuredClone(converted));
}

/** The object as a client of the kind's version sees it. */
export function present(object: KubeObject, { resource }: KindDefinition): KubeObject {
  return isNewEvent(resource) ? (convertEventToNew(object as never) as KubeObject) : object;
}

/** Reverses `present`. */
export function unpresent(object: KubeObject, { resource }: KindDefinition): KubeObject {
  return isNewEvent(resource) ? (convertEventToCore(object as never) as KubeObject) : object;
}

function isNewEvent({ group, storedAs }: KindDefinition["resource"]): boolean {
  return group === newEventKind.resource.group && storedAs === newEventKind.resource.storedAs;
}

/** Metadata that the server sets on create, after the mutating webhooks as upstream. */
const serverFields = ["uid", "creationTimestamp"] as const;

/** The object of a create as mutating webhooks see it: without the metadata that the server sets. */
export function withoutServerMetadata(object: KubeObject, hasGeneratedName: boolean): KubeObject {
  const { uid: _uid, creationTimestamp: _time, ...metadata } = object.metadata;
  if (hasGeneratedName) delete metadata.name;
  return { ...object, metadata };
}

/** Replaces the content of an object in place, and keeps metadata that webhooks must not change. */
export function replaceContent(object: KubeObject, next: KubeObject): void {
  const { metadata: before } = object;
  const target = object as unknown as Record<string, unknown>;
  for (const field of Object.keys(target)) delete target[field];
  Object.assign(target, next);
  object.metadata = { ...next.metadata };
  object.metadata.name ??= before.name;
  for (const field of serverFields) {
    if (before[field] === undefined) delete object.metadata[field];
    else object.metadata[field] = before[field];
  }
}
