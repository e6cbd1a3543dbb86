import type { Endpoint } from "./endpoints.ts";

/** Objects are answered in these. */
export const answerMediaTypes: readonly string[] = ["application/json", "application/yaml"];

/** How one version of OpenAPI describes what is under a path. */
interface PathDialect<Parameters, Operation> {
  /** Of all methods of the path. */
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

/** Every definition that a request or an answer is of. */
export function definitionsOf(endpoints: readonly Endpoint[]): Set<string> {
  return new Set(endpoints.flatMap(({ request, response }) => [request ?? [], response ?? []].flat()));
}
