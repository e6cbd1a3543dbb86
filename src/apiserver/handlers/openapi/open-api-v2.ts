import { versionInfo } from "../../../api/meta/version.ts";
import { patchMediaTypesOf } from "../../../api/patch/apply-patch.ts";
import { buildPaths, definitionsOf, objectMediaTypes, type PathItem } from "./build-paths.ts";
import { buildSchemas, type OpenApiSource, openApiName } from "./build-schemas.ts";
import { type Endpoint, pathParametersOf, type ServedVersion } from "./endpoints.ts";
import type { Dialect, JsonSchema } from "./json-schema.ts";
import { queryParameters } from "./parameters.ts";
import { toV2Schema } from "./to-v2-schema.ts";

const dialect: Dialect = {
  refTo: (name) => ({ $ref: `#/definitions/${name}` }),
  describedRef: (ref) => ref,
  // kubectl rejects fields that are not among the properties, so that a root with unknown fields must have none.
  custom: (schema) =>
    schema["x-kubernetes-preserve-unknown-fields"] === true ? undefined : toV2Schema(schema),
  // Left out, because clients do not use them and the document is large.
  enums: false,
  unions: { intOrString: { type: "string", format: "int-or-string" }, quantity: { type: "string" } },
};

export interface OpenApiV2 {
  swagger: "2.0";
  info: { title: string; version: string };
  paths: Record<string, PathItem<Parameter[], Operation>>;
  definitions: Record<string, JsonSchema>;
}

export interface Operation {
  description: string;
  consumes: readonly string[];
  produces: readonly string[];
  schemes: readonly string[];
  tags: readonly string[];
  operationId: string;
  parameters: Parameter[];
  responses: Record<string, { description: string; schema?: JsonSchema }>;
  "x-kubernetes-action": string;
  "x-kubernetes-group-version-kind": object;
}

export interface Parameter {
  name: string;
  in: "body" | "path" | "query";
  description: string;
  required?: boolean;
  /** Schema of a body parameter. Other parameters have a type. */
  schema?: JsonSchema;
  type?: string;
  uniqueItems?: boolean;
}

/** Builds the OpenAPI v2 document of all served kinds. */
export function buildOpenApiV2(versions: readonly ServedVersion[], source: OpenApiSource): OpenApiV2 {
  const endpoints = versions.flatMap((version) => version.endpoints);
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: versionInfo.gitVersion },
    paths: buildPaths(endpoints, { parameters: pathParameters, operation }),
    definitions: buildSchemas(definitionsOf(endpoints), { dialect, source }),
  };
}

function operation(endpoint: Endpoint): Operation {
  const schema = endpoint.response
    ? dialect.refTo(openApiName({ schema: endpoint.schema, definition: endpoint.response }))
    : { type: "string" };
  return {
    description: endpoint.description,
    consumes: endpoint.request === "patch" ? patchMediaTypesOf(endpoint.schema) : ["*/*"],
    produces: endpoint.response ? objectMediaTypes : ["*/*"],
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

function bodyParameter({ request, schema: definitions }: Endpoint): Parameter[] {
  if (!request) return [];
  const schema = dialect.refTo(openApiName({ schema: definitions, definition: request }));
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
