import type { KubeObject } from "../../api/objects.ts";
import { apiVersionOf, type Resource } from "../../api/resources.ts";
import { notAcceptable, type Status } from "../../api/status-error.ts";
import type { BytesAnswer, ListAnswer, ObjectAnswer } from "../api-request.ts";
import { CachedObject } from "../cache/cached-object.ts";
import { buildTable, type IncludeObject, toPartialMetadata } from "../table/build-table.ts";
import { tableFor } from "../table/table-for.ts";
import { encode } from "./encode.ts";
import { contentTypeOf, type Representation } from "./negotiate.ts";
import { isConverted, presentJson, presentObject } from "./present-json.ts";

export interface RenderOptions {
  readonly resource: Resource;
  readonly representation: Representation;
  readonly includeObject: IncludeObject;
  readonly pretty: boolean;
  readonly now: number;
}

const jsonType = contentTypeOf("json");

/** Bytes for an answer. The usual case, JSON as it is, copies bytes that are already there and parses nothing. */
export async function render(
  answer: ObjectAnswer | ListAnswer,
  options: RenderOptions,
): Promise<BytesAnswer> {
  const { representation, pretty } = options;
  const status = answer.kind === "object" ? answer.status : 200;
  const warnings = answer.kind === "object" ? answer.warnings : undefined;
  return {
    kind: "bytes",
    status,
    headers: representation.format === "json" ? jsonHeaders : yamlHeaders,
    body: isPlain(options)
      ? plainBody(answer, options.resource)
      : await encode(transform(answer, options), { ...representation, pretty }),
    ...(warnings && { warnings }),
  };
}

/** The usual answer to the usual question. */
export function plainObject(object: CachedObject, resource: Resource): BytesAnswer {
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

const jsonHeaders = { "content-type": jsonType };
const yamlHeaders = { "content-type": contentTypeOf("yaml") };

function isPlain({ representation, pretty }: RenderOptions): boolean {
  return representation.as === "object" && representation.format === "json" && !pretty;
}

function plainBody(answer: ObjectAnswer | ListAnswer, resource: Resource): Buffer | string {
  return answer.kind === "object" ? objectBody(answer.object, resource) : listBody(answer, resource);
}

function transform(answer: ObjectAnswer | ListAnswer, options: RenderOptions): unknown {
  return answer.kind === "object" ? transformObject(answer, options) : transformList(answer, options);
}

function objectBody(object: CachedObject | KubeObject | Status, resource: Resource): string {
  if (object instanceof CachedObject) return presentJson(object.json, resource);
  return JSON.stringify(parsed(object, resource));
}

function listBody(answer: ListAnswer, resource: Resource): Buffer | string {
  const metadata = JSON.stringify(listMetadata(answer));
  const head = `{"kind":"${resource.kind}List","apiVersion":"${apiVersionOf(resource)}","metadata":${metadata},"items":[`;
  if (isConverted(resource)) {
    return `${head}${answer.items.map((item) => presentJson(item.json, resource)).join(",")}${listEnd}`;
  }
  return joinItems(head, answer.items);
}

const listEnd = "]}\n";

/** Into one buffer of the right length: for a long string Node would set three times its length aside. */
function joinItems(head: string, items: readonly CachedObject[]): Buffer {
  const commas = Math.max(items.length - 1, 0);
  let length = Buffer.byteLength(head) + commas + listEnd.length;
  for (const { jsonBytes } of items) length += jsonBytes;
  const body = Buffer.allocUnsafe(length);
  let at = body.write(head);
  for (const [i, { json, jsonBytes }] of items.entries()) {
    if (i > 0) at += body.write(",", at, "latin1");
    // ASCII, which nearly all objects are, is copied as it is.
    at += body.write(json, at, jsonBytes === json.length ? "latin1" : "utf8");
  }
  body.write(listEnd, at, "latin1");
  return body;
}

function listMetadata({ revision, continueToken, remaining }: ListAnswer): object {
  return {
    resourceVersion: String(revision),
    ...(continueToken && { continue: continueToken }),
    ...(remaining !== undefined && { remainingItemCount: remaining }),
  };
}

function transformObject(answer: ObjectAnswer, options: RenderOptions): unknown {
  const { representation, resource } = options;
  const object = parsed(answer.object, resource);
  if (isStatus(object) || representation.as === "object") return object;
  switch (representation.as) {
    case "partialObjectMetadata":
      return toPartialMetadata(object, representation);
    case "table": {
      const metadata = { resourceVersion: object.metadata.resourceVersion };
      return buildTable(tableFor(resource), [object], { ...options, ...tableMeta(options), metadata });
    }
    case "partialObjectMetadataList":
      throw notAcceptable([jsonType]);
  }
}

function transformList(answer: ListAnswer, options: RenderOptions): unknown {
  const { representation, resource } = options;
  const metadata = listMetadata(answer);
  switch (representation.as) {
    case "object": {
      const items = answer.items.map((item) => parsed(item, resource));
      return { kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata, items };
    }
    case "table":
      return buildTable(tableFor(resource), parsedEach(answer.items, resource), {
        ...options,
        ...tableMeta(options),
        metadata,
      });
    case "partialObjectMetadataList": {
      const items = answer.items.map((item) => toPartialMetadata(item.parse(), representation));
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
