import type { KubeObject } from "../../api/objects.ts";
import { apiVersionOf, type Resource } from "../../api/resources.ts";
import { notAcceptable, type StatusError } from "../../api/status-error.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import { createTableEvents, type IncludeObject, toPartialMetadata } from "../table/build-table.ts";
import { tableFor } from "../table/table-for.ts";
import type { Representation } from "./negotiate.ts";
import { presentJson } from "./present-json.ts";

/** How the events of a watch look on the wire. */
export interface WatchPresenter {
  added(object: CachedObject): string;
  modified(object: CachedObject): string;
  deleted(object: CachedObject, revision: number): string;
  bookmark(revision: number, options?: { initialEventsEnd?: boolean }): string;
  error(error: StatusError): string;
}

interface PresenterOptions {
  readonly representation: Representation;
  readonly includeObject: IncludeObject;
  now(): number;
}

const jsonPresenters = new Map<Resource, WatchPresenter>();

/** The presenter for what a client asked for. Watches that want plain JSON share one, and with it the frames. */
export function presenterFor(
  resource: Resource,
  { representation, includeObject, now }: PresenterOptions,
): WatchPresenter {
  switch (representation.as) {
    case "table": {
      const toTable = createTableEvents(tableFor(resource), {
        includeObject,
        metaVersion: representation.metaVersion,
      });
      return createTransformedWatchPresenter(resource, (object) => toTable(object, now()));
    }
    case "partialObjectMetadata":
      return createTransformedWatchPresenter(resource, (object) => toPartialMetadata(object, representation));
    case "partialObjectMetadataList":
      throw notAcceptable(["application/json;stream=watch"]);
    case "object": {
      const presenter = jsonPresenters.get(resource) ?? createJsonWatchPresenter(resource);
      jsonPresenters.set(resource, presenter);
      return presenter;
    }
  }
}

const frames = {
  ADDED: '{"type":"ADDED","object":',
  MODIFIED: '{"type":"MODIFIED","object":',
  DELETED: '{"type":"DELETED","object":',
};
const frameEnd = "}\n";

/** Objects as they are, around JSON that is already there. */
function createJsonWatchPresenter(resource: Resource): WatchPresenter {
  const added = createFramer(frames.ADDED, resource);
  const modified = createFramer(frames.MODIFIED, resource);
  return {
    added,
    modified,
    deleted: (object, revision) =>
      frames.DELETED + presentJson(object.jsonDeletedAt(revision), resource) + frameEnd,
    bookmark: (revision, options) => encodeEvent("BOOKMARK", bookmarkObject(resource, revision, options)),
    error: (error) => encodeEvent("ERROR", error.toStatus()),
  };
}

/** Objects turned into something else: rows of a table, metadata alone. */
function createTransformedWatchPresenter(
  resource: Resource,
  transform: (object: KubeObject) => unknown,
): WatchPresenter {
  const event = (type: string, json: string) =>
    encodeEvent(type, transform(JSON.parse(presentJson(json, resource))));
  return {
    added: (object) => event("ADDED", object.json),
    modified: (object) => event("MODIFIED", object.json),
    deleted: (object, revision) => event("DELETED", object.jsonDeletedAt(revision)),
    bookmark: (revision, options) =>
      encodeEvent("BOOKMARK", transform(bookmarkObject(resource, revision, options))),
    error: (error) => encodeEvent("ERROR", error.toStatus()),
  };
}

/** Keeps the last frame: all watchers of one change come one after the other and share it. */
function createFramer(frame: string, resource: Resource): (object: CachedObject) => string {
  let last: { object: CachedObject; framed: string } | undefined;
  return (object) => {
    if (last?.object !== object) {
      last = { object, framed: frame + presentJson(object.json, resource) + frameEnd };
    }
    return last.framed;
  };
}

function encodeEvent(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function bookmarkObject(
  resource: Resource,
  revision: number,
  options?: { initialEventsEnd?: boolean },
): KubeObject {
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: {
      resourceVersion: String(revision),
      ...(options?.initialEventsEnd && { annotations: { "k8s.io/initial-events-end": "true" } }),
    },
  };
}
