import { convertEventToCore, convertEventToNew, type NewEvent } from "../../api/convert-event.ts";
import type { Event as CoreEvent, KubeObject } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";

/*
 * Events are served under two groups, core and events.k8s.io, over the same stored objects, which are core's.
 * Every other kind is stored as it is shown.
 */

export function isConverted(resource: Resource): boolean {
  return resource.group === "events.k8s.io";
}

/** The JSON of a stored object as the API group that was asked shows it. */
export function presentJson(json: string, resource: Resource): string {
  return isConverted(resource) ? JSON.stringify(convertEventToNew(JSON.parse(json))) : json;
}

export function presentObject(object: KubeObject, resource: Resource): KubeObject {
  return isConverted(resource) ? convertEventToNew(object as CoreEvent) : object;
}

/** The way back: what a client sent, as the kind that is stored. */
export function toStoredKind(object: KubeObject, resource: Resource): KubeObject {
  return isConverted(resource) ? convertEventToCore(object as NewEvent) : object;
}
