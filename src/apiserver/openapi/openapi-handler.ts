import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { loadDescriptions } from "../../api/schema/load-descriptions.ts";
import { encodeOpenApiV2 } from "./encode-open-api-v2.ts";
import { type ServedVersion, servedVersions } from "./endpoints.ts";
import { buildOpenApiV2 } from "./open-api-v2.ts";
import { buildOpenApiV3 } from "./open-api-v3.ts";

interface OpenApiAnswer {
  readonly status: 200 | 301 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

type RequestHeaders = Pick<IncomingHttpHeaders, "accept" | "if-none-match">;

/** Answers a GET of `/openapi/…`; undefined at once for any other path. Documents are made when first asked for. */
export type OpenApiHandler = (
  path: string,
  headers: RequestHeaders,
  query?: URLSearchParams,
) => Promise<OpenApiAnswer> | undefined;

interface Page {
  readonly contentType: string;
  readonly body: Buffer;
  readonly hash: string;
}

const json = "application/json";
const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

export function createOpenApiHandler(): OpenApiHandler {
  const pages = new Map<string, Promise<Page>>();
  let versions: ReadonlyMap<string, ServedVersion> | undefined;

  function served(): ReadonlyMap<string, ServedVersion> {
    versions ??= new Map(servedVersions().map((version) => [version.name, version]));
    return versions;
  }

  function page(key: string, contentType: string, make: () => Promise<Buffer>): Promise<Page> {
    const known = pages.get(key);
    if (known) return known;
    const made = make().then((body) => ({ contentType, body, hash: hashOf(body) }));
    pages.set(key, made);
    // What could not be made is made again for the next who asks.
    made.catch(() => pages.delete(key));
    return made;
  }

  function versionPage(version: ServedVersion): Promise<Page> {
    return page(version.name, json, async () => jsonBytes(buildOpenApiV3(version, await loadDescriptions())));
  }

  function indexPage(): Promise<Page> {
    return page("v3", json, async () => {
      const paths: Record<string, object> = {};
      for (const version of served().values()) {
        const { hash } = await versionPage(version);
        paths[version.name] = { serverRelativeURL: addressOf(version, hash) };
        // Each takes milliseconds: let others have the event loop in between.
        await new Promise(setImmediate);
      }
      return jsonBytes({ paths });
    });
  }

  function wholePage(accept = ""): Promise<Page> {
    const build = async () => buildOpenApiV2([...served().values()], await loadDescriptions());
    return accept.includes("com.github.proto-openapi.spec.v2")
      ? page("v2 protobuf", protobuf, async () => encodeOpenApiV2(await build()))
      : page("v2", json, async () => jsonBytes(await build()));
  }

  async function answerVersion(version: ServedVersion, headers: RequestHeaders, query?: URLSearchParams) {
    const page = await versionPage(version);
    const hash = query?.get("hash");
    if (!hash) return answer(page, headers);
    return hash === page.hash ? immutable(answer(page, headers)) : redirect(addressOf(version, page.hash));
  }

  return (fullPath, headers, query) => {
    if (!fullPath.startsWith("/openapi/v")) return undefined;
    const path = fullPath.replace(/\/$/, "");
    if (path === "/openapi/v2") return wholePage(headers.accept).then((page) => answer(page, headers));
    if (path === "/openapi/v3") return indexPage().then((page) => answer(page, headers));
    const name = /^\/openapi\/v3\/(.+)$/.exec(path)?.[1] ?? "";
    const version = served().get(name);
    return version && answerVersion(version, headers, query);
  };
}

function answer({ contentType, body, hash }: Page, request: RequestHeaders): OpenApiAnswer {
  const headers = { etag: `"${hash}"`, vary: "Accept" };
  if (request["if-none-match"] === headers.etag) return { status: 304, headers, body: Buffer.alloc(0) };
  return { status: 200, headers: { ...headers, "content-type": contentType }, body };
}

/** What lies under its own hash never changes: clients need not ask again. */
function immutable(answer: OpenApiAnswer): OpenApiAnswer {
  const headers = { ...answer.headers, "cache-control": "public, immutable, max-age=31536000" };
  return { ...answer, headers };
}

function redirect(location: string): OpenApiAnswer {
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
