import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { apiVersionOf } from "../../../api/meta/resource.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";
import { encode } from "../encoding/encode.ts";
import { contentTypeOf, type Format, firstAcceptable, negotiateFormat } from "../encoding/negotiate.ts";
import { type ApiGroup, type ApiResource, apiGroups } from "./api-resource.ts";

interface DiscoveryResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type RequestHeaders = Pick<IncomingHttpHeaders, "accept" | "if-none-match">;

/**
 * Handles a GET of a discovery path. Returns undefined synchronously for any other path. Rejects with a StatusError
 * (406).
 */
export type DiscoveryHandler = (
  path: string,
  headers: RequestHeaders,
) => Promise<DiscoveryResponse> | undefined;

interface DiscoveryOptions {
  readonly kinds: KindRegistry;
  /** `host:port` under which clients outside the cluster reach the server. */
  serverAddress(): string;
}

/** Documents are rendered on first use, and again after the set of kinds has changed. */
export function createDiscoveryHandler({ kinds, serverAddress }: DiscoveryOptions): DiscoveryHandler {
  const rendered = new Map<string, Map<string, RenderedDocument>>();
  kinds.onChange(() => rendered.clear());

  function renderedDocuments(form: "plain" | AggregatedVersion): Map<string, RenderedDocument> {
    const known = rendered.get(form);
    if (known) return known;
    const groups = apiGroups(kinds.list());
    const documents =
      form === "plain"
        ? plainDocuments(groups, { serverAddress: serverAddress() })
        : aggregatedDocuments(groups, form);
    const made = render(documents);
    rendered.set(form, made);
    return made;
  }

  return (fullPath, headers) => {
    if (!fullPath.startsWith("/api")) return undefined;
    const path = fullPath.replace(/\/$/, "");
    const plain = renderedDocuments("plain").get(path);
    if (!plain) return undefined;
    const asked = askedAggregated(headers.accept);
    const aggregated = asked && renderedDocuments(asked.version).get(path);
    return aggregated ? respond(aggregated, headers, asked) : respond(plain, headers);
  };
}

interface RenderedDocument {
  readonly document: object;
  readonly json: string;
  readonly etag: string;
}

interface Aggregated {
  readonly format: Format;
  readonly version: AggregatedVersion;
}

async function respond(
  { document, json, etag }: RenderedDocument,
  request: RequestHeaders,
  aggregated?: Aggregated,
): Promise<DiscoveryResponse> {
  const format = aggregated?.format ?? negotiateFormat(request.accept);
  const kind = aggregated ? `;g=apidiscovery.k8s.io;v=${aggregated.version};as=APIGroupDiscoveryList` : "";
  const headers = { etag, vary: "Accept", "cache-control": "public" };
  if (request["if-none-match"] === etag) return { status: 304, headers, body: "" };
  return {
    status: 200,
    // Clients distinguish the two formats by the content type.
    headers: { ...headers, "content-type": contentTypeOf(format) + kind },
    body: format === "json" ? json : await encode(document, { format }),
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

function render(documents: Map<string, object>): Map<string, RenderedDocument> {
  const renderedDocuments = [...documents].map(([path, document]): [string, RenderedDocument] => {
    const json = `${JSON.stringify(document)}\n`;
    const etag = `"${createHash("sha512").update(json).digest("hex").toUpperCase()}"`;
    return [path, { document, json, etag }];
  });
  return new Map(renderedDocuments);
}

export type AggregatedVersion = "v2" | "v2beta1";

/** Discovery documents by path: the roots, each group and each group version. */
export function plainDocuments(
  served: readonly ApiGroup[],
  options: { serverAddress: string },
): Map<string, object> {
  const documents = new Map<string, object>();
  const groups: object[] = [];
  for (const { name, versions } of served) {
    for (const { version, resources } of versions) {
      const groupVersion = apiVersionOf({ group: name, version });
      // As upstream, the list of the core group has no apiVersion.
      const head = { kind: "APIResourceList", ...(name && { apiVersion: "v1" }) };
      documents.set(`${name ? "/apis" : "/api"}/${groupVersion}`, { ...head, groupVersion, resources });
    }
    if (!name) continue;
    const offered = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
    const group = { name, versions: offered, preferredVersion: offered[0] };
    documents.set(`/apis/${name}`, { kind: "APIGroup", apiVersion: "v1", ...group });
    groups.push(group);
  }
  documents.set("/apis", { kind: "APIGroupList", apiVersion: "v1", groups });
  return documents.set("/api", {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", ...options }],
  });
}

/** Aggregated discovery documents of the two roots, each with all groups and their resources. */
export function aggregatedDocuments(
  served: readonly ApiGroup[],
  aggregatedVersion: AggregatedVersion,
): Map<string, object> {
  const items = served.map(({ name, versions }) => ({
    metadata: name ? { name } : {},
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: nestSubresources(resources),
      freshness: "Current",
    })),
  }));
  const head = {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${aggregatedVersion}`,
    metadata: {},
  };
  return new Map([
    ["/api", { ...head, items: items.slice(0, 1) }],
    ["/apis", { ...head, items: items.slice(1) }],
  ]);
}

function nestSubresources(rows: readonly ApiResource[]): object[] {
  return rows
    .filter((row) => !row.name.includes("/"))
    .map((row) => {
      const prefix = `${row.name}/`;
      const subresources = rows
        .filter((other) => other.name.startsWith(prefix))
        .map((other) => ({
          subresource: other.name.slice(prefix.length),
          responseKind: responseKind(other),
          verbs: other.verbs,
        }));
      return {
        resource: row.name,
        responseKind: responseKind(row),
        scope: row.namespaced ? "Namespaced" : "Cluster",
        singularResource: row.singularName,
        verbs: row.verbs,
        ...(row.shortNames && { shortNames: row.shortNames }),
        ...(row.categories && { categories: row.categories }),
        ...(subresources.length > 0 && { subresources }),
      };
    });
}

/** Kind of responses. As upstream, group and version are empty if they are those of the list. */
function responseKind({ group = "", version = "", kind }: ApiResource): object {
  return { group, version, kind };
}
