import { patchMediaTypes } from "../../api/patch/apply-patch.ts";
import type { Descriptions } from "../../api/schema/load-descriptions.ts";
import { versionInfo } from "../../api/version.ts";
import { answerMediaTypes, buildPaths, definitionsOf } from "./build-paths.ts";
import { buildSchemas, openApiName } from "./build-schemas.ts";
import { type Endpoint, pathParametersOf, type ServedVersion } from "./endpoints.ts";
import type { Dialect, Schema } from "./json-schema.ts";
import { queryParameters } from "./parameters.ts";

const dialect: Dialect = {
  refTo: (name) => ({ $ref: `#/components/schemas/${name}` }),
  // Beside a $ref nothing else counts in OpenAPI 3.0.
  describedRef: (ref) => ({ allOf: [ref] }),
  enums: true,
  unions: {
    intOrString: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
    quantity: { oneOf: [{ type: "string" }, { type: "number" }] },
  },
};

/** The document of one group version: its paths, and every schema that they lead to. */
export function buildOpenApiV3({ endpoints }: ServedVersion, descriptions: Descriptions): object {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: versionInfo.gitVersion },
    paths: buildPaths(endpoints, { parameters: pathParameters, operation }),
    components: {
      schemas: buildSchemas(definitionsOf(endpoints), { dialect, descriptions }),
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
    ...(endpoint.request && { requestBody: requestBody(endpoint.request) }),
    responses: {
      ...Object.fromEntries(endpoint.successCodes.map((code) => [code, response(endpoint)])),
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": endpoint.action,
    "x-kubernetes-group-version-kind": endpoint.kind,
  };
}

function requestBody(request: string): object {
  const mediaTypes = request === "patch" ? patchMediaTypes : ["*/*"];
  const required = request !== "meta.v1.DeleteOptions";
  return { content: content(mediaTypes, dialect.refTo(openApiName(request))), ...(required && { required }) };
}

function response({ response }: Endpoint): object {
  return {
    description: "OK",
    content: response
      ? content(answerMediaTypes, dialect.refTo(openApiName(response)))
      : content(["*/*"], { type: "string" }),
  };
}

function content(mediaTypes: readonly string[], schema: Schema): object {
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
