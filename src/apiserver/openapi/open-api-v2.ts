import { patchMediaTypes } from "../../api/patch/apply-patch.ts";
import type { Descriptions } from "../../api/schema/load-descriptions.ts";
import { versionInfo } from "../../api/version.ts";
import { answerMediaTypes, buildPaths, definitionsOf, type PathItem } from "./build-paths.ts";
import { buildSchemas, openApiName } from "./build-schemas.ts";
import { type Endpoint, pathParametersOf, type ServedVersion } from "./endpoints.ts";
import type { Dialect, Schema } from "./json-schema.ts";
import { queryParameters } from "./parameters.ts";

const dialect: Dialect = {
  refTo: (name) => ({ $ref: `#/definitions/${name}` }),
  describedRef: (ref) => ref,
  // Nobody reads them there, and the document is large as it is.
  enums: false,
  unions: { intOrString: { type: "string", format: "int-or-string" }, quantity: { type: "string" } },
};

export interface OpenApiV2 {
  swagger: "2.0";
  info: { title: string; version: string };
  paths: Record<string, PathItem<Parameter[], Operation>>;
  definitions: Record<string, Schema>;
}

export interface Operation {
  description: string;
  consumes: readonly string[];
  produces: readonly string[];
  schemes: readonly string[];
  tags: readonly string[];
  operationId: string;
  parameters: Parameter[];
  responses: Record<string, { description: string; schema?: Schema }>;
  "x-kubernetes-action": string;
  "x-kubernetes-group-version-kind": object;
}

export interface Parameter {
  name: string;
  in: "body" | "path" | "query";
  description: string;
  required?: boolean;
  /** For a body; the others have a type. */
  schema?: Schema;
  type?: string;
  uniqueItems?: boolean;
}

/** One document for everything that is served. */
export function buildOpenApiV2(versions: readonly ServedVersion[], descriptions: Descriptions): OpenApiV2 {
  const endpoints = versions.flatMap((version) => version.endpoints);
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: versionInfo.gitVersion },
    paths: buildPaths(endpoints, { parameters: pathParameters, operation }),
    definitions: buildSchemas(definitionsOf(endpoints), { dialect, descriptions }),
  };
}

function operation(endpoint: Endpoint): Operation {
  const schema = endpoint.response ? dialect.refTo(openApiName(endpoint.response)) : { type: "string" };
  return {
    description: endpoint.description,
    consumes: endpoint.request === "patch" ? patchMediaTypes : ["*/*"],
    produces: endpoint.response ? answerMediaTypes : ["*/*"],
    schemes: ["https"],
    tags: [endpoint.tag],
    operationId: endpoint.operationId,
    parameters: [...bodyParameter(endpoint), ...endpoint.parameters.map(queryParameter)],
    responses: {
      ...Object.fromEntries(endpoint.successCodes.map((code) => [code, { description: "OK", schema }])),
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": endpoint.action,
    "x-kubernetes-group-version-kind": endpoint.kind,
  };
}

function bodyParameter({ request }: Endpoint): Parameter[] {
  if (!request) return [];
  const schema = dialect.refTo(openApiName(request));
  const required = request !== "meta.v1.DeleteOptions";
  return [{ name: "body", in: "body", description: "", schema, ...(required && { required }) }];
}

function queryParameter(name: keyof typeof queryParameters): Parameter {
  const { type, description } = queryParameters[name];
  return { name, in: "query", description, type, uniqueItems: true };
}

function pathParameters(path: string): Parameter[] {
  const inPath = pathParametersOf(path).map(({ name, description }): Parameter => {
    return { name, in: "path", description, required: true, type: "string", uniqueItems: true };
  });
  return [...inPath, queryParameter("pretty")];
}
