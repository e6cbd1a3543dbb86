import { scaleColumns } from "../../api/kinds/apps/workload.ts";
import { type Column, defaultColumns, type TableLayout } from "../../api/kinds/columns.ts";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import type { Resource } from "../../api/meta/resource.ts";
import { methodNotAllowed, pathNotFound, StatusError } from "../../api/meta/status-error.ts";
import type { TokenRequestDeps } from "../auth/token/request-token.ts";
import type { ApiRequest, ApiResponse, BytesResponse, WatchResponse } from "../request/api-request.ts";
import { parseRequest, type ResourceRequest } from "../request/request-info.ts";
import type { ObjectRef } from "../storage/object-store.ts";
import { isServedGroup } from "./discovery/api-resource.ts";
import { limitWarnings, wantsPretty } from "./encoding/encode.ts";
import { negotiate } from "./encoding/negotiate.ts";
import { render } from "./encoding/render.ts";
import type { WatchEncoderFor } from "./encoding/watch-encoder.ts";
import {
  handleResource,
  type ResourceHandlerDeps,
  type ServedRequest,
  watchRequest,
} from "./resource-handler.ts";
import { handleBinding } from "./subresources/binding.ts";
import { handleEviction } from "./subresources/eviction.ts";
import { handleFinalize } from "./subresources/finalize.ts";
import { handleScale, scaleKind } from "./subresources/scale.ts";
import { handleToken } from "./subresources/token.ts";
import { parseIncludeObject } from "./tables/build-table.ts";
import { runWatch } from "./verbs/watch.ts";

export interface ApiHandlerDeps extends ResourceHandlerDeps {
  everyMinute(callback: () => void): () => void;
  readonly watchEncoderFor: WatchEncoderFor;
  /** Issues tokens of service accounts. */
  readonly tokens: TokenRequestDeps;
  /** Access and token reviews, which are never stored. */
  review(request: ApiRequest, info: ResourceRequest): (() => Promise<ApiResponse>) | undefined;
  /** Discovery, OpenAPI, health, version, metrics. */
  handleNonResource(request: ApiRequest, path: string): Promise<BytesResponse | undefined>;
}

/** Handles an authorized request. The response is rendered unless it is a watch. */
export async function handleRequest(
  deps: ApiHandlerDeps,
  request: ApiRequest,
): Promise<BytesResponse | WatchResponse> {
  const { info } = request;
  if (info.kind === "path") {
    const response = await deps.handleNonResource(request, info.path);
    if (response) return response;
    const asked = parseRequest(deps.kinds, "GET", info.path, undefined);
    if (asked?.kind === "resource" && isServed(asked)) throw methodNotAllowed();
    if (isInServedGroup(deps, info.path)) throw pathNotFound();
    return notFoundResponse;
  }
  const review = deps.review(request, info);
  if (review) return rendered(deps, request, reviewView(info), review);
  if (isBindings(info)) {
    if (info.verb !== "create") throw methodNotAllowed();
    const { namespace } = info;
    return rendered(deps, request, podKind, () =>
      handleBinding(deps, request, { resource: podKind.resource, namespace }),
    );
  }
  if (!isServed(info)) {
    if (isServedGroup(deps.kinds, info.group)) throw pathNotFound();
    return notFoundResponse;
  }
  if (info.verb === "watch") return startWatch(deps, request, info);
  return rendered(deps, request, viewOf(info), () => handleServed(deps, request, info));
}

/** The deprecated path to bind a pod. Bindings are neither stored nor listed. */
function isBindings({ group, version, plural, namespace, name }: ResourceRequest): boolean {
  return group === "" && version === "v1" && plural === "bindings" && namespace !== "" && name === "";
}

/** True for the discovery path of a version that a served group does not have. */
function isInServedGroup({ kinds }: ApiHandlerDeps, path: string): boolean {
  const [, prefix, group = ""] = path.split("/");
  return prefix === "api" ? group !== "" : prefix === "apis" && group !== "" && isServedGroup(kinds, group);
}

/** Response for paths outside of all served groups, as Go's HTTP server words it. */
const notFoundResponse: BytesResponse = {
  kind: "bytes",
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: "404 page not found\n",
};

/** Resource and columns with which a response is rendered. */
interface View extends TableLayout {
  readonly resource: Resource;
  /** Whether the resource can be rendered as a table. Defaults to true. */
  readonly hasTable?: boolean;
}

function viewOf({ definition, subresource }: ServedRequest): View {
  if (subresource !== "scale") return definition;
  return {
    resource: { ...definition.resource, ...scaleKind },
    columns: scaleColumns as readonly Column[],
  };
}

export function isServed(info: ResourceRequest): info is ServedRequest {
  const { definition } = info;
  if (!definition) return false;
  if (info.namespace && !definition.resource.namespaced && info.plural !== "namespaces") return false;
  return info.subresource === "" || (definition.subresources as readonly string[]).includes(info.subresource);
}

/** Dispatches subresources with their own handler; the rest is generic. */
function handleServed(deps: ApiHandlerDeps, request: ApiRequest, info: ServedRequest): Promise<ApiResponse> {
  const { verb } = info;
  const { resource } = info.definition;
  const ref: ObjectRef = { resource, namespace: resource.namespaced ? info.namespace : "", name: info.name };
  const onlyCreate = () => {
    if (verb !== "create") throw methodNotAllowed();
  };
  switch (info.subresource) {
    case "scale":
      return handleScale(deps, request, ref, verb);
    case "finalize":
      return handleFinalize(deps.objectStore, request, ref, verb);
    case "binding":
      onlyCreate();
      return handleBinding(deps, request, ref);
    case "eviction":
      onlyCreate();
      return handleEviction(deps, request, ref);
    case "token":
      onlyCreate();
      return handleToken(deps, request, ref);
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
  view: View,
  handle: () => Promise<ApiResponse>,
): Promise<BytesResponse> {
  const { headers, query } = request;
  // Before the handler runs: a write whose response the client does not accept is not made.
  const representation = negotiate(headers.accept, { table: view.hasTable });
  const includeObject = parseIncludeObject(query.get("includeObject"));
  const { resource } = view;
  const { deprecated } = resource;
  const response = await (deprecated ? handle().catch(alsoWarning(deprecated)) : handle());
  if (response.kind === "watch") throw new Error("a watch is not rendered");
  if (response.kind === "bytes") return response;
  const { warnings = [], ...bytes } = await render(response, {
    resource,
    layout: view,
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

function startWatch(deps: ApiHandlerDeps, request: ApiRequest, info: ServedRequest): WatchResponse {
  const { reader, clock, everyMinute, kinds } = deps;
  const { definition } = info;
  const representation = negotiate(request.headers.accept, { watch: true });
  const includeObject = parseIncludeObject(request.query.get("includeObject"));
  const encoder = deps.watchEncoderFor(definition, { representation, includeObject });
  const watch = watchRequest(request, info);
  return {
    kind: "watch",
    async run(sink) {
      const unsubscribe = kinds.onChange((change) => {
        if (change.type === "removed" && change.definition === definition) sink.end();
      });
      try {
        await runWatch({ reader, clock, encoder, everyMinute }, watch, sink);
      } finally {
        unsubscribe();
      }
    },
  };
}

/** Reviews are not kinds: they are neither stored nor listed. */
function reviewView({ group, version, plural }: ResourceRequest): View {
  const resource: Resource = {
    group,
    version,
    plural,
    kind: plural,
    singular: plural,
    namespaced: false,
    shortNames: [],
    categories: [],
    storedAs: "",
  };
  return { resource, columns: defaultColumns, hasTable: false };
}
