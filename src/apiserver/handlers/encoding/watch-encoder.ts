import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";
import { apiVersionOf, type Resource } from "../../../api/meta/resource.ts";
import { notAcceptable, type StatusError } from "../../../api/meta/status-error.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Frame } from "../../request/api-request.ts";
import type { CachedObject } from "../../storage/cached-object.ts";
import { buildEventTable, type IncludeObject, toPartialMetadata } from "../tables/build-table.ts";
import { isConverted, presentJson } from "./encode.ts";
import type { Representation } from "./negotiate.ts";
import { isLong } from "./render.ts";

/** Encodes the events of a watch. */
export interface WatchEncoder {
  added(object: CachedObject): Frame;
  modified(object: CachedObject): Frame;
  deleted(object: CachedObject, revision: number): Frame;
  bookmark(revision: number, options?: { initialEventsEnd?: boolean }): Frame;
  error(error: StatusError): Frame;
}

interface EncoderOptions {
  readonly representation: Representation;
  readonly includeObject: IncludeObject;
}

/** Returns the encoder for a watch of the kind. */
export type WatchEncoderFor = (definition: KindDefinition, options: EncoderOptions) => WatchEncoder;

/** Watches of a kind with the same representation share an encoder and its encoded events. */
export function createWatchEncoders({ now }: Clock): WatchEncoderFor {
  const encoders = new WeakMap<KindDefinition, Map<string, WatchEncoder>>();

  function shared(definition: KindDefinition, options: EncoderOptions, noHeaders: boolean): WatchEncoder {
    const { representation, includeObject } = options;
    const ofKind = encoders.get(definition) ?? new Map<string, WatchEncoder>();
    encoders.set(definition, ofKind);
    const key = [representation.as, representation.metaVersion, includeObject, noHeaders].join(" ");
    const encoder = ofKind.get(key) ?? create(definition, options, noHeaders);
    ofKind.set(key, encoder);
    return encoder;
  }

  function create(
    definition: KindDefinition,
    { representation, includeObject }: EncoderOptions,
    noHeaders: boolean,
  ): WatchEncoder {
    const { resource } = definition;
    const { as, metaVersion } = representation;
    switch (as) {
      case "table": {
        const tableOptions = { includeObject, metaVersion, noHeaders };
        const toTable = (object: KubeObject) =>
          buildEventTable(definition, object, { ...tableOptions, now: now() });
        return createTransformedWatchEncoder(resource, toTable, now);
      }
      case "partialObjectMetadata":
        return createTransformedWatchEncoder(resource, (object) => toPartialMetadata(object, representation));
      case "partialObjectMetadataList":
        throw notAcceptable(["application/json;stream=watch"]);
      case "object":
        return createJsonWatchEncoder(resource);
    }
  }

  return (definition, options) =>
    options.representation.as === "table"
      ? withColumnsOnce({
          first: shared(definition, options, false),
          rest: shared(definition, options, true),
        })
      : shared(definition, options, false);
}

/** Only the first table of a watch has the definitions of the columns. */
function withColumnsOnce({ first, rest }: Record<"first" | "rest", WatchEncoder>): WatchEncoder {
  let current = first;
  const next = () => {
    const used = current;
    current = rest;
    return used;
  };
  return {
    added: (object) => next().added(object),
    modified: (object) => next().modified(object),
    deleted: (object, revision) => next().deleted(object, revision),
    bookmark: (revision, options) => next().bookmark(revision, options),
    error: rest.error,
  };
}

type EventType = "ADDED" | "MODIFIED" | "DELETED";

const frameHeads = {
  ADDED: '{"type":"ADDED","object":',
  MODIFIED: '{"type":"MODIFIED","object":',
  DELETED: '{"type":"DELETED","object":',
};
const frameEnd = "}\n";

/** Wraps the stored JSON of objects. */
function createJsonWatchEncoder(resource: Resource): WatchEncoder {
  const whole = (type: EventType, json: string): Frame => [
    Buffer.from(frameHeads[type] + presentJson(json, resource) + frameEnd),
  ];
  const framed = (type: EventType) => (object: CachedObject) =>
    isLong(object) && !isConverted(resource)
      ? [Buffer.from(frameHeads[type]), object.encoded(), Buffer.from(frameEnd)]
      : whole(type, object.json);
  return {
    added: keepLast(framed("ADDED")),
    modified: keepLast(framed("MODIFIED")),
    deleted: keepLast((object, revision) => whole("DELETED", object.jsonDeletedAt(revision))),
    bookmark: (revision, options) => encodeEvent("BOOKMARK", bookmarkObject(resource, revision, options)),
    error: (error) => encodeEvent("ERROR", error.toStatus()),
  };
}

/** Transforms objects into rows of a table, which change with time, or into metadata. */
function createTransformedWatchEncoder(
  resource: Resource,
  transform: (object: KubeObject) => unknown,
  now = () => 0,
): WatchEncoder {
  const event = (type: EventType, json: string) =>
    encodeEvent(type, transform(JSON.parse(presentJson(json, resource))));
  return {
    added: keepLast((object) => event("ADDED", object.json), now),
    modified: keepLast((object) => event("MODIFIED", object.json), now),
    deleted: keepLast((object, revision) => event("DELETED", object.jsonDeletedAt(revision)), now),
    bookmark: (revision, options) =>
      encodeEvent("BOOKMARK", transform(bookmarkObject(resource, revision, options))),
    error: (error) => encodeEvent("ERROR", error.toStatus()),
  };
}

/** Keeps the last encoded event, because the watchers of one change are notified one after the other. */
function keepLast(
  frame: (object: CachedObject, revision: number) => Frame,
  now = () => 0,
): (object: CachedObject, revision?: number) => Frame {
  let last: { object: CachedObject; revision: number; second: number; frame: Frame } | undefined;
  return (object, revision = 0) => {
    const second = Math.floor(now() / 1_000);
    if (last?.object !== object || last.revision !== revision || last.second !== second)
      last = { object, revision, second, frame: frame(object, revision) };
    return last.frame;
  };
}

function encodeEvent(type: string, object: unknown): Frame {
  return [Buffer.from(`${JSON.stringify({ type, object })}\n`)];
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
