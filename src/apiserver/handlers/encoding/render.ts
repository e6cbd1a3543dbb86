import type { TableLayout } from "../../../api/kinds/columns.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";
import { apiVersionOf, listKindOf, type Resource } from "../../../api/meta/resource.ts";
import { notAcceptable, type Status } from "../../../api/meta/status-error.ts";
import {
  type Body,
  type BytesResponse,
  inlineBytes,
  type ListResponse,
  type ObjectResponse,
  type PiecewiseBody,
} from "../../request/api-request.ts";
import { CachedObject } from "../../storage/cached-object.ts";
import { buildTable, type IncludeObject, toPartialMetadata } from "../tables/build-table.ts";
import { encode, isConverted, presentJson, presentObject } from "./encode.ts";
import { createListBody } from "./list-body.ts";
import { contentTypeOf, type Representation } from "./negotiate.ts";

export interface RenderOptions {
  readonly resource: Resource;
  /** Columns of a table of the objects. */
  readonly layout: TableLayout;
  readonly representation: Representation;
  readonly includeObject: IncludeObject;
  readonly pretty: boolean;
  readonly now: number;
}

const jsonType = contentTypeOf("json");

/**
 * Encodes a response. Plain JSON, the usual case, copies the stored JSON without parsing it. Requests for the same list in
 * the same representation share one body.
 */
export async function render(
  response: ObjectResponse | ListResponse,
  options: RenderOptions,
): Promise<BytesResponse> {
  const { representation, pretty } = options;
  const status = response.kind === "object" ? response.status : 200;
  const warnings = response.kind === "object" ? response.warnings : undefined;
  return {
    kind: "bytes",
    status,
    headers: representation.format === "json" ? jsonHeaders : yamlHeaders,
    body: await (response.kind === "list"
      ? sharedBody(response, options)
      : isPlain(options)
        ? objectBody(response.object, options.resource)
        : encode(transformObject(response, options), { ...representation, pretty })),
    ...(warnings && { warnings }),
  };
}

/** Whether the object is too long to be sent in one write. */
export function isLong({ jsonBytes }: CachedObject): boolean {
  return jsonBytes > inlineBytes;
}

/** Response with one object as plain JSON. */
export function plainObject(object: CachedObject, resource: Resource): BytesResponse {
  const { json, jsonBytes } = object;
  const body = presentJson(json, resource);
  return {
    kind: "bytes",
    status: 200,
    headers: jsonHeaders,
    body,
    bodyBytes: body === json ? jsonBytes : Buffer.byteLength(body),
  };
}

type ListBody = Buffer | PiecewiseBody;

/** Bodies of lists that are being sent, by representation. */
const listBodies = new WeakMap<ListResponse, Map<string, WeakRef<ListBody>>>();
/** Keeps a list while a body of it is being sent, so that later requests for the list find both. */
const listsOfBodies = new WeakMap<ListBody, ListResponse>();

async function sharedBody(response: ListResponse, options: RenderOptions): Promise<ListBody> {
  const bodies = listBodies.get(response) ?? new Map<string, WeakRef<ListBody>>();
  listBodies.set(response, bodies);
  const form = formOf(options);
  const shared = bodies.get(form)?.deref();
  if (shared) return shared;
  const body = await makeListBody(response, options);
  for (const [other, ref] of bodies) if (!ref.deref()) bodies.delete(other);
  bodies.set(form, new WeakRef(body));
  listsOfBodies.set(body, response);
  return body;
}

async function makeListBody(response: ListResponse, options: RenderOptions): Promise<ListBody> {
  const { resource, representation, pretty } = options;
  if (!isPlain(options) || isConverted(resource))
    return Buffer.from(await encode(transformList(response, options), { ...representation, pretty }));
  const metadata = JSON.stringify(listMetadata(response));
  return createListBody(
    `{"kind":"${listKindOf(resource)}","apiVersion":"${apiVersionOf(resource)}","metadata":${metadata},"items":[`,
    response.items,
  );
}

/** Key of the representation of a list. Tables show ages in seconds. */
function formOf({ resource, representation, includeObject, pretty, now }: RenderOptions): string {
  const { format, as, metaVersion } = representation;
  const table = as === "table" ? [includeObject, Math.floor(now / 1_000)] : [];
  return [apiVersionOf(resource), format, as, metaVersion, pretty, ...table].join(" ");
}

const jsonHeaders = { "content-type": jsonType };
const yamlHeaders = { "content-type": contentTypeOf("yaml") };

function isPlain({ representation, pretty }: RenderOptions): boolean {
  return representation.as === "object" && representation.format === "json" && !pretty;
}

function objectBody(object: CachedObject | KubeObject | Status, resource: Resource): Body {
  if (object instanceof CachedObject)
    return isLong(object) && !isConverted(resource) ? object.encoded() : presentJson(object.json, resource);
  return JSON.stringify(parsed(object, resource));
}

function listMetadata({ revision, continueToken, remaining }: ListResponse): object {
  return {
    resourceVersion: String(revision),
    ...(continueToken && { continue: continueToken }),
    ...(remaining !== undefined && { remainingItemCount: remaining }),
  };
}

function transformObject(response: ObjectResponse, options: RenderOptions): unknown {
  const { representation, resource } = options;
  const object = parsed(response.object, resource);
  if (isStatus(object) || representation.as === "object") return object;
  switch (representation.as) {
    case "partialObjectMetadata":
      return toPartialMetadata(object, representation);
    case "table": {
      const metadata = { resourceVersion: object.metadata.resourceVersion };
      return buildTable(options.layout, [object], { ...options, ...tableMeta(options), metadata });
    }
    case "partialObjectMetadataList":
      throw notAcceptable([jsonType]);
  }
}

function transformList(response: ListResponse, options: RenderOptions): unknown {
  const { representation, resource } = options;
  const metadata = listMetadata(response);
  switch (representation.as) {
    case "object": {
      const items = response.items.map((item) => parsed(item, resource));
      return { kind: listKindOf(resource), apiVersion: apiVersionOf(resource), metadata, items };
    }
    case "table":
      return buildTable(options.layout, parsedEach(response.items, resource), {
        ...options,
        ...tableMeta(options),
        metadata,
      });
    case "partialObjectMetadataList": {
      const items = response.items.map((item) => toPartialMetadata(item.parse(), representation));
      return {
        kind: "PartialObjectMetadataList",
        apiVersion: `meta.k8s.io/${representation.metaVersion}`,
        metadata,
        items,
      };
    }
    case "partialObjectMetadata":
      throw notAcceptable([jsonType]);
  }
}

function tableMeta({ representation }: RenderOptions) {
  return { metaVersion: representation.metaVersion };
}

function* parsedEach(items: readonly CachedObject[], resource: Resource): Generator<KubeObject> {
  for (const item of items) yield parsed(item, resource) as KubeObject;
}

function parsed(object: CachedObject | KubeObject | Status, resource: Resource): KubeObject | Status {
  if (object instanceof CachedObject) return JSON.parse(presentJson(object.json, resource));
  return isStatus(object) ? object : presentObject(object, resource);
}

function isStatus(object: KubeObject | Status): object is Status {
  return object.kind === "Status";
}
