/** A request to the kubelet as the API server judges it: a verb on a subresource of the node. */
export interface RequestAttributes {
  readonly verb: string;
  /** In the order in which they are asked for: one that is allowed is enough. */
  readonly subresources: readonly string[];
}

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

const subresources: Readonly<Record<string, readonly string[]>> = {
  // Narrow rights for what monitoring reads; whoever has the wide one may read it too.
  pods: ["pods", "proxy"],
  runningpods: ["pods", "proxy"],
  healthz: ["healthz", "proxy"],
  configz: ["configz", "proxy"],
  stats: ["stats"],
  metrics: ["metrics"],
  logs: ["log"],
  checkpoint: ["checkpoint"],
  statusz: ["statusz"],
  flagz: ["configz"],
};

/** By the method and the first segment of the path. */
export function requestAttributes(method: string, root: string): RequestAttributes {
  return {
    verb: Object.hasOwn(verbs, method) ? (verbs[method] ?? "") : "",
    subresources: (Object.hasOwn(subresources, root) ? subresources[root] : undefined) ?? ["proxy"],
  };
}
