import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { apiVersionOf } from "../../../api/meta/resource.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import type { Descriptions, Schema } from "../../../api/schema/schema.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";
import type { OpenApiSource } from "./build-schemas.ts";
import { encodeOpenApiV2 } from "./encode-open-api-v2.ts";
import { type ServedVersion, servedVersions } from "./endpoints.ts";
import { buildOpenApiV2 } from "./open-api-v2.ts";
import { buildOpenApiV3 } from "./open-api-v3.ts";

interface OpenApiResponse {
  readonly status: 200 | 301 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

type RequestHeaders = Pick<IncomingHttpHeaders, "accept" | "if-none-match">;

/** Handles a GET of `/openapi/…`. Returns undefined for any other path. */
export type OpenApiHandler = (
  path: string,
  headers: RequestHeaders,
  query?: URLSearchParams,
) => Promise<OpenApiResponse> | undefined;

interface RenderedDocument {
  readonly contentType: string;
  readonly body: Buffer;
  readonly hash: string;
}

const json = "application/json";
const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/**
 * Documents are built on first use, and again after their kinds have changed. Every document lists all group versions, so
 * all of them are built again when a group version is added or removed.
 */
export function createOpenApiHandler({ kinds }: { kinds: KindRegistry }): OpenApiHandler {
  const documents = new Map<string, Promise<RenderedDocument>>();
  let versions: ReadonlyMap<string, ServedVersion> | undefined;
  let source: Promise<OpenApiSource> | undefined;
  let groupVersions = groupVersionsOf(kinds);
  kinds.onChange(({ type, definition: { resource } }) => {
    if (type === "adding") return;
    const now = groupVersionsOf(kinds);
    if (now !== groupVersions) documents.clear();
    for (const key of ["v2", "v2 protobuf", "v3", `apis/${apiVersionOf(resource)}`]) documents.delete(key);
    groupVersions = now;
    versions = undefined;
    source = undefined;
  });

  function currentSource(): Promise<OpenApiSource> {
    source ??= loadSource(kinds);
    return source;
  }

  function served(): ReadonlyMap<string, ServedVersion> {
    versions ??= new Map(servedVersions(kinds).map((version) => [version.name, version]));
    return versions;
  }

  function document(
    key: string,
    contentType: string,
    make: () => Promise<Buffer>,
  ): Promise<RenderedDocument> {
    const known = documents.get(key);
    if (known) return known;
    const made = make().then((body) => ({ contentType, body, hash: hashOf(body) }));
    documents.set(key, made);
    // A document that could not be built is built again for the next request.
    made.catch(() => {
      if (documents.get(key) === made) documents.delete(key);
    });
    return made;
  }

  function versionDocument(version: ServedVersion): Promise<RenderedDocument> {
    return document(version.name, json, async () =>
      jsonBytes(buildOpenApiV3(version, await currentSource())),
    );
  }

  function indexDocument(): Promise<RenderedDocument> {
    return document("v3", json, async () => {
      const paths: Record<string, object> = {};
      for (const version of served().values()) {
        const { hash } = await versionDocument(version);
        paths[version.name] = { serverRelativeURL: addressOf(version, hash) };
        // Each document takes milliseconds: yield to the event loop in between.
        await new Promise(setImmediate);
      }
      return jsonBytes({ paths });
    });
  }

  function wholeDocument(accept = ""): Promise<RenderedDocument> {
    const build = async () => buildOpenApiV2([...served().values()], await currentSource());
    return accept.includes("com.github.proto-openapi.spec.v2")
      ? document("v2 protobuf", protobuf, async () => encodeOpenApiV2(await build()))
      : document("v2", json, async () => jsonBytes(await build()));
  }

  async function answerVersion(version: ServedVersion, headers: RequestHeaders, query?: URLSearchParams) {
    const document = await versionDocument(version);
    const hash = query?.get("hash");
    if (!hash) return respond(document, headers);
    return hash === document.hash
      ? immutable(respond(document, headers))
      : redirect(addressOf(version, document.hash));
  }

  return (fullPath, headers, query) => {
    if (!fullPath.startsWith("/openapi/v")) return undefined;
    const path = fullPath.replace(/\/$/, "");
    if (path === "/openapi/v2")
      return wholeDocument(headers.accept).then((document) => respond(document, headers));
    if (path === "/openapi/v3") return indexDocument().then((document) => respond(document, headers));
    const name = /^\/openapi\/v3\/(.+)$/.exec(path)?.[1] ?? "";
    const version = served().get(name);
    return version && answerVersion(version, headers, query);
  };
}

function groupVersionsOf(kinds: KindRegistry): string {
  return [...new Set(kinds.list().map(({ resource }) => apiVersionOf(resource)))].join();
}

async function loadSource(kinds: KindRegistry): Promise<OpenApiSource> {
  const definitions = kinds.list();
  const descriptions = new Map<Schema, Descriptions>();
  for (const schema of new Set([builtInSchema, ...definitions.map((definition) => definition.schema)])) {
    descriptions.set(schema, await schema.loadDescriptions());
  }
  return { kinds: definitions, descriptions };
}

function respond({ contentType, body, hash }: RenderedDocument, request: RequestHeaders): OpenApiResponse {
  const headers = { etag: `"${hash}"`, vary: "Accept" };
  if (request["if-none-match"] === headers.etag) return { status: 304, headers, body: Buffer.alloc(0) };
  return { status: 200, headers: { ...headers, "content-type": contentType }, body };
}

/** A document under its own hash never changes: clients may cache it. */
function immutable(response: OpenApiResponse): OpenApiResponse {
  const headers = { ...response.headers, "cache-control": "public, immutable, max-age=31536000" };
  return { ...response, headers };
}

function redirect(location: string): OpenApiResponse {
  return { status: 301, headers: { location }, body: Buffer.alloc(0) };
}

function addressOf(version: ServedVersion, hash: string): string {
  return `/openapi/v3/${version.name}?hash=${hash}`;
}

function hashOf(body: Buffer): string {
  return createHash("sha512").update(body).digest("hex").toUpperCase();
}

function jsonBytes(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
