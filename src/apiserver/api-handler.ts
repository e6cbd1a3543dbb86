import { findResource, type Resource } from "../api/resources.ts";
import { methodNotAllowed, pathNotFound, StatusError } from "../api/status-error.ts";
import type { Answer, ApiRequest, BytesAnswer, WatchAnswer } from "./api-request.ts";
import { apiGroups } from "./discovery/api-resource.ts";
import type { ObjectRef } from "./registry/registry.ts";
import { wantsPretty } from "./representation/encode.ts";
import { limitWarnings } from "./representation/limit-warnings.ts";
import { negotiate } from "./representation/negotiate.ts";
import { plainObject, render } from "./representation/render.ts";
import { presenterFor } from "./representation/watch-presenter.ts";
import { parseRequest, type ResourceRequest } from "./request-info.ts";
import {
  handleResource,
  type ResourceHandlerDeps,
  type ServedRequest,
  watchRequest,
} from "./resource-handler.ts";
import { handleBinding } from "./subresource/binding.ts";
import { handleEviction } from "./subresource/eviction.ts";
import { handleFinalize } from "./subresource/finalize.ts";
import { handleScale, scaleKind } from "./subresource/scale.ts";
import { parseIncludeObject } from "./table/build-table.ts";
import { runWatch } from "./verb/watch.ts";

export interface ApiHandlerDeps extends ResourceHandlerDeps {
  everyMinute(callback: () => void): () => void;
  /** `serviceaccounts/NAME/token`. */
  issueToken(request: ApiRequest, ref: ObjectRef): Promise<Answer>;
  /** Kinds that are questions and are never stored: access and token reviews. */
  review(request: ApiRequest, info: ResourceRequest): Promise<Answer> | undefined;
  /** Discovery, OpenAPI, health, version, metrics. */
  page(request: ApiRequest, path: string): Promise<BytesAnswer | undefined>;
}

/** From a request that is allowed to the answer to it, rendered unless it is a watch. */
export async function answerRequest(
  deps: ApiHandlerDeps,
  request: ApiRequest,
): Promise<BytesAnswer | WatchAnswer> {
  const { info } = request;
  if (info.kind === "path") {
    const page = await deps.page(request, info.path);
    if (page) return page;
    const asked = parseRequest("GET", info.path, undefined);
    if (asked?.kind === "resource" && isServed(asked)) throw methodNotAllowed();
    if (isInServedGroup(info.path)) throw pathNotFound();
    return noSuchPage;
  }
  const review = await deps.review(request, info);
  if (review) return rendered(deps, request, info.resource ?? reviewResource(info), async () => review);
  if (isBindings(info)) {
    if (info.verb !== "create") throw methodNotAllowed();
    const { namespace } = info;
    return rendered(deps, request, podResource, () =>
      handleBinding(deps, request, { resource: podResource, namespace }),
    );
  }
  if (!isServed(info)) {
    if (servedGroups.has(info.group)) throw pathNotFound();
    return noSuchPage;
  }
  if (info.verb === "watch") return startWatch(deps, request, info);
  return rendered(deps, request, shownAs(info), () => answerServed(deps, request, info));
}

const podResource = findResource("", "v1", "pods") as Resource;

/** The old way to bind a pod: nothing of it is stored or listed. */
function isBindings({ group, version, plural, namespace, name }: ResourceRequest): boolean {
  return group === "" && version === "v1" && plural === "bindings" && namespace !== "" && name === "";
}

const servedGroups = new Set(apiGroups().map(({ name }) => name));

/** Discovery of a version that its group does not have. */
function isInServedGroup(path: string): boolean {
  const [, prefix, group = ""] = path.split("/");
  return prefix === "api" ? group !== "" : prefix === "apis" && group !== "" && servedGroups.has(group);
}

/** What lies outside of all that is served: Go's own words for it. */
const noSuchPage: BytesAnswer = {
  kind: "bytes",
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: "404 page not found\n",
};

/** The kind whose columns a table of the answer has. */
function shownAs({ resource, subresource }: ServedRequest): Resource {
  return subresource === "scale" ? { ...resource, ...scaleKind } : resource;
}

/**
 * The most frequent request of all, the GET of one object as plain JSON, without a promise on its way: undefined
 * where it is anything else, or the object is not there, and the whole of `answerRequest` is needed.
 */
export function answerAtOnce(
  deps: ApiHandlerDeps,
  request: Pick<ApiRequest, "info" | "query" | "headers">,
): BytesAnswer | undefined {
  const { info, query, headers } = request;
  if (info.kind !== "resource" || info.verb !== "get" || info.subresource !== "" || !info.resource)
    return undefined;
  if (deps.reader.shared || query.size > 0 || info.resource.deprecated || !isServed(info)) return undefined;
  const { resource, name } = info;
  const { as, format, pretty } = negotiate(headers.accept);
  if (as !== "object" || format !== "json" || pretty || wantsPretty({ userAgent: headers["user-agent"] }))
    return undefined;
  const object = deps.registry.peek({ resource, namespace: resource.namespaced ? info.namespace : "", name });
  return object && plainObject(object, resource);
}

function isServed(info: ResourceRequest): info is ServedRequest {
  if (!info.resource) return false;
  if (info.namespace && !info.resource.namespaced && info.plural !== "namespaces") return false;
  return (
    info.subresource === "" || (info.resource.subresources as readonly string[]).includes(info.subresource)
  );
}

/** One obvious hop for each subresource; all the rest is generic. */
function answerServed(deps: ApiHandlerDeps, request: ApiRequest, info: ServedRequest): Promise<Answer> {
  const { resource, verb } = info;
  const ref: ObjectRef = { resource, namespace: resource.namespaced ? info.namespace : "", name: info.name };
  const onlyCreate = () => {
    if (verb !== "create") throw methodNotAllowed();
  };
  switch (info.subresource) {
    case "scale":
      return handleScale(deps, request, ref, verb);
    case "finalize":
      return handleFinalize(deps.registry, request, ref, verb);
    case "binding":
      onlyCreate();
      return handleBinding(deps, request, ref);
    case "eviction":
      onlyCreate();
      return handleEviction(deps, request, ref);
    case "token":
      onlyCreate();
      return deps.issueToken(request, ref);
    case "status":
      if (verb !== "get" && verb !== "update" && verb !== "patch") throw methodNotAllowed();
      return handleResource(deps, request, info);
    default:
      return handleResource(deps, request, info);
  }
}

async function rendered(
  deps: ApiHandlerDeps,
  request: ApiRequest,
  resource: Resource,
  ask: () => Promise<Answer>,
): Promise<BytesAnswer> {
  const { headers, query } = request;
  // Before anything is done: a write whose answer the client cannot read is not made.
  const representation = negotiate(headers.accept);
  const includeObject = parseIncludeObject(query.get("includeObject"));
  const { deprecated } = resource;
  const answer = await (deprecated ? ask().catch(alsoWarning(deprecated)) : ask());
  if (answer.kind === "watch") throw new Error("a watch is not rendered");
  if (answer.kind === "bytes") return answer;
  const { warnings = [], ...bytes } = await render(answer, {
    resource,
    representation,
    includeObject,
    pretty:
      representation.pretty || wantsPretty({ pretty: query.get("pretty"), userAgent: headers["user-agent"] }),
    now: deps.clock.now(),
  });
  if (!deprecated && warnings.length === 0) return bytes;
  return { ...bytes, warnings: limitWarnings(deprecated ? [deprecated, ...warnings] : warnings) };
}

function alsoWarning(warning: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof StatusError) error.warnings = [warning, ...error.warnings];
    throw error;
  };
}

function startWatch(deps: ApiHandlerDeps, request: ApiRequest, info: ServedRequest): WatchAnswer {
  const { reader, clock, everyMinute } = deps;
  const representation = negotiate(request.headers.accept, { watch: true });
  const includeObject = parseIncludeObject(request.query.get("includeObject"));
  const presenter = presenterFor(info.resource, { representation, includeObject, now: () => clock.now() });
  const watch = watchRequest(deps, request, info);
  return { kind: "watch", run: (sink) => runWatch({ reader, clock, presenter, everyMinute }, watch, sink) };
}

/** Reviews have no row in the table: nothing of them is stored or listed. */
function reviewResource({ group, version, plural }: ResourceRequest): Resource {
  return {
    group,
    version,
    plural,
    kind: plural,
    singular: plural,
    namespaced: false,
    shortNames: [],
    categories: [],
    subresources: [],
    storedAs: "",
  };
}
