import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { definitionName, type GroupVersionKind, type Schema } from "../../../api/schema/schema.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";
import { type ApiResource, apiGroups } from "../discovery/api-resource.ts";
import { parametersOfSubresource, parametersOfVerb, type QueryParameterName } from "./parameters.ts";

/** One method of one path, independent of the OpenAPI version. */
export interface Endpoint {
  /** `/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}` */
  readonly path: string;
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** Value of `x-kubernetes-action`. */
  readonly action: string;
  readonly operationId: string;
  readonly description: string;
  readonly tag: string;
  readonly kind: GroupVersionKind;
  readonly parameters: readonly QueryParameterName[];
  /** Definition of the body, or `patch`. Undefined for requests without a body. */
  readonly request: string | undefined;
  /** Definition of the response. Undefined if the response is not an object. */
  readonly response: string | undefined;
  readonly successCodes: readonly number[];
  /** Schema that contains the definitions. */
  readonly schema: Schema;
}

interface Verb {
  readonly method: Endpoint["method"];
  readonly action: string;
  /** Prefix of operation ids and descriptions. */
  readonly word: string;
  readonly successCodes: readonly number[];
}

const verbs: Readonly<Record<string, Verb>> = {
  create: { method: "post", action: "post", word: "create", successCodes: [200, 201, 202] },
  delete: { method: "delete", action: "delete", word: "delete", successCodes: [200, 202] },
  deletecollection: { method: "delete", action: "deletecollection", word: "delete", successCodes: [200] },
  get: { method: "get", action: "get", word: "read", successCodes: [200] },
  list: { method: "get", action: "list", word: "list", successCodes: [200] },
  patch: { method: "patch", action: "patch", word: "patch", successCodes: [200, 201] },
  update: { method: "put", action: "put", word: "replace", successCodes: [200, 201] },
};

const onCollection = new Set(["create", "deletecollection", "list"]);
/** Subresources that open a connection instead of returning an object. */
const connecting = new Set(["attach", "exec", "portforward", "proxy"]);

/** A group version that is served, with all its endpoints. */
export interface ServedVersion {
  /** Name in `/openapi/v3`: `api/v1`, `apis/apps/v1`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly endpoints: readonly Endpoint[];
}

/** Endpoints of the kinds in a registry, and of the APIs that store nothing. */
export function servedVersions(kinds: Pick<KindRegistry, "find" | "list">): ServedVersion[] {
  return apiGroups(kinds.list()).flatMap(({ name: group, versions }) =>
    versions.map(({ version, resources }) => {
      const kindNames = new Map(resources.map((row) => [row.name, row.kind]));
      return {
        name: group ? `apis/${group}/${version}` : `api/${version}`,
        group,
        version,
        endpoints: resources.flatMap((row) => {
          const definition = kinds.find({ group, version, plural: row.name.split("/")[0] ?? "" });
          const schema = definition?.schema ?? builtInSchema;
          return endpointsOf({ row, group, version, kinds: kindNames, schema });
        }),
      };
    }),
  );
}

interface Row {
  readonly row: ApiResource;
  /** Group of the version that serves the resource. Its kind may be of another group. */
  readonly group: string;
  readonly version: string;
  /** Kinds of all resources of that version, by plural. */
  readonly kinds: ReadonlyMap<string, string>;
  readonly schema: Schema;
}

function endpointsOf(row: Row): Endpoint[] {
  return row.row.verbs.flatMap((name) => {
    const verb = verbs[name];
    if (!verb) return [];
    const endpoint = endpointOf(row, name, verb);
    return name === "list" && row.row.namespaced ? [endpoint, forAllNamespaces(endpoint)] : [endpoint];
  });
}

function endpointOf({ row, group, version, kinds, schema }: Row, name: string, verb: Verb): Endpoint {
  const [plural = "", subresource = ""] = row.name.split("/");
  const prefix = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const collection = `${prefix}${row.namespaced ? "/namespaces/{namespace}" : ""}/${plural}`;
  const item = subresource ? `${collection}/{name}/${subresource}` : `${collection}/{name}`;
  const kind = { group: row.group ?? group, version: row.version ?? version, kind: row.kind };
  // For subresources, the kind of the parent.
  const object =
    (row.namespaced ? "Namespaced" : "") + (kinds.get(plural) ?? row.kind) + capitalized(subresource);
  const connects = connecting.has(subresource);
  const scope = groupWord(group) + capitalized(version);
  const middle = name === "deletecollection" ? "Collection" : connects ? capitalized(verb.method) : "";
  return {
    path: onCollection.has(name) && !subresource ? collection : item,
    method: verb.method,
    action: connects ? "connect" : verb.action,
    operationId: `${connects ? "connect" : verb.word}${scope}${middle}${object}`,
    description: `${connects ? "connect to" : verb.word} ${row.name} (${kind.kind})`,
    tag: `${uncapitalized(groupWord(group))}_${version}`,
    kind,
    parameters: parametersOfSubresource[subresource] ?? parametersOfVerb[name] ?? [],
    request: connects ? undefined : requestOf(name, kind),
    response: connects || subresource === "log" ? undefined : responseOf(name, kind),
    successCodes: connects ? [200] : verb.successCodes,
    schema,
  };
}

function forAllNamespaces(list: Endpoint): Endpoint {
  return {
    ...list,
    path: list.path.replace("/namespaces/{namespace}", ""),
    operationId: `${list.operationId.replace("Namespaced", "")}ForAllNamespaces`,
  };
}

function requestOf(verb: string, kind: GroupVersionKind): Endpoint["request"] {
  if (verb === "create" || verb === "update") return definitionName(kind);
  if (verb === "delete" || verb === "deletecollection") return "meta.v1.DeleteOptions";
  return verb === "patch" ? "patch" : undefined;
}

function responseOf(verb: string, kind: GroupVersionKind): string {
  if (verb === "list") return `${definitionName(kind)}List`;
  return verb === "delete" || verb === "deletecollection" ? "meta.v1.Status" : definitionName(kind);
}

function groupWord(group: string): string {
  const parts = group.replace(/\.k8s\.io$/, "").split(".");
  return group ? parts.map(capitalized).join("") : "Core";
}

function uncapitalized(word: string): string {
  return word.charAt(0).toLowerCase() + word.slice(1);
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

export function pathParametersOf(path: string): { name: string; description: string }[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    description: name === "namespace" ? "The namespace of the object." : "The name of the object.",
  }));
}
