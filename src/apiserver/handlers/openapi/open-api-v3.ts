import { versionInfo } from "../../../api/meta/version.ts";
import { patchMediaTypesOf } from "../../../api/patch/apply-patch.ts";
import { buildPaths, definitionsOf, objectMediaTypes } from "./build-paths.ts";
import { buildSchemas, type DefinitionRef, type OpenApiSource, openApiName } from "./build-schemas.ts";
import { type Endpoint, pathParametersOf, type ServedVersion } from "./endpoints.ts";
import type { Dialect, JsonSchema } from "./json-schema.ts";
import { queryParameters } from "./parameters.ts";

const dialect: Dialect = {
  refTo: (name) => ({ $ref: `#/components/schemas/${name}` }),
  // OpenAPI 3.0 ignores all fields next to a $ref.
  describedRef: (ref) => ({ allOf: [ref] }),
  custom: (schema) => schema,
  enums: true,
  unions: {
    intOrString: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
    quantity: { oneOf: [{ type: "string" }, { type: "number" }] },
  },
};

/** Builds the document of one group version with its paths and the schemas they refer to. */
export function buildOpenApiV3({ endpoints }: ServedVersion, source: OpenApiSource): object {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: versionInfo.gitVersion },
    paths: buildPaths(endpoints, { parameters: pathParameters, operation }),
    components: {
      schemas: buildSchemas(definitionsOf(endpoints), { dialect, source }),
      securitySchemes: {
        BearerToken: { type: "apiKey", in: "header", name: "authorization", description: "Bearer token" },
      },
    },
  };
}

function operation(endpoint: Endpoint): object {
  return {
    tags: [endpoint.tag],
    description: endpoint.description,
    operationId: endpoint.operationId,
    ...(endpoint.parameters.length > 0 && { parameters: endpoint.parameters.map(queryParameter) }),
    ...(endpoint.request && {
      requestBody: requestBody({ schema: endpoint.schema, definition: endpoint.request }),
    }),
    responses: {
      ...Object.fromEntries(endpoint.successCodes.map((code) => [code, response(endpoint)])),
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": endpoint.action,
    "x-kubernetes-group-version-kind": endpoint.kind,
  };
}

function requestBody(request: DefinitionRef): object {
  const mediaTypes = request.definition === "patch" ? patchMediaTypesOf(request.schema) : ["*/*"];
  const required = request.definition !== "meta.v1.DeleteOptions";
  return { content: content(mediaTypes, dialect.refTo(openApiName(request))), ...(required && { required }) };
}

function response({ response, schema }: Endpoint): object {
  return {
    description: "OK",
    content: response
      ? content(objectMediaTypes, dialect.refTo(openApiName({ schema, definition: response })))
      : content(["*/*"], { type: "string" }),
  };
}

function content(mediaTypes: readonly string[], schema: JsonSchema): object {
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]));
}

function queryParameter(name: keyof typeof queryParameters): object {
  const { type, description } = queryParameters[name];
  return { name, in: "query", description, schema: { type, uniqueItems: true } };
}

function pathParameters(path: string): object[] {
  const inPath = pathParametersOf(path).map(({ name, description }) => ({
    name,
    in: "path",
    description,
    required: true,
    schema: { type: "string", uniqueItems: true },
  }));
  return [...inPath, queryParameter("pretty")];
}
