/** One request, sent to both servers. */
export interface Request {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export const namespace = "same";
export const core = `/api/v1/namespaces/${namespace}`;
export const apps = `/apis/apps/v1/namespaces/${namespace}`;
export const rbac = "/apis/rbac.authorization.k8s.io/v1";
export const container = { name: "c", image: "nginx" };
export const selector = { matchLabels: { a: "b" } };
export const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
export const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

export const get = (path: string, headers?: Record<string, string>): Request => ({
  name: `GET ${path}${headers ? ` ${Object.values(headers)}` : ""}`,
  method: "GET",
  path,
  headers,
});
export const send = (method: string, path: string, body?: unknown): Request => ({
  name: `${method} ${path} ${(JSON.stringify(body) ?? "").slice(0, 120)}`,
  method,
  path,
  body,
});
export const patch = (type: "json" | "merge" | "strategic-merge", path: string, body: unknown): Request => ({
  ...send("PATCH", path, body),
  headers: { "content-type": `application/${type}-patch+json` },
});
export const dry = (path: string, object: object): Request => {
  const metadata = { name: "x" };
  return send("POST", `${path}?dryRun=All`, { metadata, ...object });
};
