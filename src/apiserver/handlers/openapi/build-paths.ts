import type { DefinitionRef } from "./build-schemas.ts";
import type { Endpoint } from "./endpoints.ts";

/** Media types of responses that contain objects. */
export const objectMediaTypes: readonly string[] = ["application/json", "application/yaml"];

/** Builders for the paths of one OpenAPI version. */
interface PathDialect<Parameters, Operation> {
  /** Parameters of all methods of the path. */
  parameters(path: string): Parameters;
  operation(endpoint: Endpoint): Operation;
}

export type PathItem<Parameters, Operation> = { parameters: Parameters } & Partial<
  Record<Endpoint["method"], Operation>
>;

export function buildPaths<Parameters, Operation>(
  endpoints: readonly Endpoint[],
  dialect: PathDialect<Parameters, Operation>,
): Record<string, PathItem<Parameters, Operation>> {
  const paths = new Map<string, PathItem<Parameters, Operation>>();
  for (const endpoint of endpoints) {
    const { path, method } = endpoint;
    const item = paths.get(path) ?? { parameters: dialect.parameters(path) };
    paths.set(path, { ...item, [method]: dialect.operation(endpoint) });
  }
  return Object.fromEntries([...paths].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Definitions of all requests and responses. */
export function definitionsOf(endpoints: readonly Endpoint[]): DefinitionRef[] {
  return endpoints.flatMap(({ schema, request, response }) =>
    [request, response].flatMap((definition) => (definition ? { schema, definition } : [])),
  );
}
