import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { encode } from "../representation/encode.ts";
import { contentTypeOf, type Format, firstAcceptable, negotiateFormat } from "../representation/negotiate.ts";
import { type AggregatedVersion, aggregatedDocuments, plainDocuments } from "./documents.ts";

interface DiscoveryAnswer {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type RequestHeaders = Pick<IncomingHttpHeaders, "accept" | "if-none-match">;

/** Answers a GET of a discovery path; undefined at once for any other path. Rejects with a StatusError (406). */
export type DiscoveryHandler = (
  path: string,
  headers: RequestHeaders,
) => Promise<DiscoveryAnswer> | undefined;

/** `serverAddress` is the `host:port` that clients outside reach the server at. */
export function createDiscoveryHandler(options: { serverAddress: string }): DiscoveryHandler {
  const plain = lazily(() => render(plainDocuments(options)));
  const aggregated = {
    v2: lazily(() => render(aggregatedDocuments("v2"))),
    v2beta1: lazily(() => render(aggregatedDocuments("v2beta1"))),
  };

  return (fullPath, headers) => {
    if (!fullPath.startsWith("/api")) return undefined;
    const path = fullPath.replace(/\/$/, "");
    const plainPage = plain().get(path);
    if (!plainPage) return undefined;
    const asked = askedAggregated(headers.accept);
    const page = asked && aggregated[asked.version]().get(path);
    return page ? answer(page, headers, asked) : answer(plainPage, headers);
  };
}

interface Page {
  readonly document: object;
  readonly json: string;
  readonly etag: string;
}

interface Aggregated {
  readonly format: Format;
  readonly version: AggregatedVersion;
}

async function answer(
  page: Page,
  request: RequestHeaders,
  aggregated?: Aggregated,
): Promise<DiscoveryAnswer> {
  const format = aggregated?.format ?? negotiateFormat(request.accept);
  const kind = aggregated ? `;g=apidiscovery.k8s.io;v=${aggregated.version};as=APIGroupDiscoveryList` : "";
  const headers = { etag: page.etag, vary: "Accept", "cache-control": "public" };
  if (request["if-none-match"] === page.etag) return { status: 304, headers, body: "" };
  return {
    status: 200,
    // Clients know by the content type which of the two answers they got.
    headers: { ...headers, "content-type": contentTypeOf(format) + kind },
    body: format === "json" ? page.json : await encode(page.document, { format }),
  };
}

function askedAggregated(accept = ""): Aggregated | undefined {
  const chosen = firstAcceptable(
    accept,
    (parameters) =>
      parameters.get("g") === "apidiscovery.k8s.io" &&
      parameters.get("as") === "APIGroupDiscoveryList" &&
      ["v2", "v2beta1"].includes(parameters.get("v") ?? ""),
  );
  return chosen && { format: chosen.format, version: chosen.parameters.get("v") === "v2" ? "v2" : "v2beta1" };
}

function render(documents: Map<string, object>): Map<string, Page> {
  const pages = [...documents].map(([path, document]): [string, Page] => {
    const json = `${JSON.stringify(document)}\n`;
    const etag = `"${createHash("sha512").update(json).digest("hex").toUpperCase()}"`;
    return [path, { document, json, etag }];
  });
  return new Map(pages);
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
