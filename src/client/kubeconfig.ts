import { dirname, resolve } from "node:path";
import { parse } from "yaml";

/** Something that a kubeconfig holds itself, or that a file next to it holds. */
export type Source =
  | { readonly kind: "data"; readonly data: string; readonly field: string }
  | { readonly kind: "file"; readonly path: string; readonly field: string };

/** What the current context of a kubeconfig says. Its files are not read yet. */
export interface Kubeconfig {
  readonly server: URL;
  readonly serverName?: string;
  readonly insecure: boolean;
  readonly authority?: Source;
  /** Both of a pair. */
  readonly certificate?: { readonly cert: Source; readonly key: Source };
  readonly token?: string;
  /** Goes before `token` as long as it can be read. */
  readonly tokenFile?: string;
}

type Mapping = Readonly<Record<string, unknown>>;

/** `path` is where the text came from: other files are found relative to it, and messages begin with it. */
export function parseKubeconfig(text: string, path: string): Kubeconfig {
  try {
    const config = mapping(parse(text), "the file");
    const contextName = string(config["current-context"], "current-context");
    if (!contextName)
      throw new Error("current-context is not set: set it to the name of one of the contexts");
    const context = entry(config, "contexts", contextName, "current-context");
    const clusterName = string(context.value.cluster, `${context.field}.cluster`);
    if (!clusterName) throw new Error(`${context.field}.cluster is not set: name one of the clusters`);
    const userName = string(context.value.user, `${context.field}.user`);
    const folder = dirname(path);
    return {
      ...readCluster(entry(config, "clusters", clusterName, `${context.field}.cluster`), folder),
      // A context without a user is anonymous, as it is for kubectl.
      ...(userName && readUser(entry(config, "users", userName, `${context.field}.user`), folder)),
    };
  } catch (error) {
    throw new Error(`kubeconfig ${path}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}

interface Entry {
  readonly value: Mapping;
  /** `clusters["prod"].cluster` */
  readonly field: string;
}

function readCluster({ value, field }: Entry, folder: string) {
  if (value["proxy-url"]) {
    throw new Error(
      `${field}.proxy-url: proxies are not supported; give a server that can be reached directly`,
    );
  }
  const insecure = value["insecure-skip-tls-verify"] === true;
  const authority = source(value, "certificate-authority", { field, folder });
  if (insecure && authority) {
    throw new Error(
      `${field}: certificate-authority and insecure-skip-tls-verify exclude each other; remove one of them`,
    );
  }
  return {
    server: serverUrl(string(value.server, `${field}.server`), `${field}.server`),
    serverName: string(value["tls-server-name"], `${field}.tls-server-name`),
    insecure,
    authority,
  };
}

function serverUrl(text: string | undefined, field: string): URL {
  const url = text && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw new Error(`${field}: ${JSON.stringify(text ?? "")} is not a URL; write https://HOST:PORT`);
  }
  return url;
}

/** What would make this client someone else than kubectl is with the same file must not be passed over. */
const refused: Readonly<Record<string, string>> = {
  exec: "credential plugins are not supported; use a client certificate, a token or a tokenFile",
  "auth-provider": "auth providers are not supported; use a client certificate, a token or a tokenFile",
  username: "passwords are not supported; use a client certificate, a token or a tokenFile",
  as: "impersonation is not supported; use the credentials of that user",
};

function readUser({ value, field }: Entry, folder: string) {
  for (const [name, advice] of Object.entries(refused)) {
    if (value[name]) throw new Error(`${field}.${name}: ${advice}`);
  }
  const at = { field, folder };
  const cert = source(value, "client-certificate", at);
  const key = source(value, "client-key", at);
  if (!cert !== !key) {
    const [has, lacks] = cert ? ["client-certificate", "client-key"] : ["client-key", "client-certificate"];
    throw new Error(`${field}.${lacks} is not set, but ${has} is: set both or neither`);
  }
  const tokenFile = string(value.tokenFile, `${field}.tokenFile`);
  return {
    certificate: cert && key && { cert, key },
    token: string(value.token, `${field}.token`),
    tokenFile: tokenFile && resolve(folder, tokenFile),
  };
}

/** `NAME-data`, else the file `NAME`. */
function source(value: Mapping, name: string, at: { field: string; folder: string }): Source | undefined {
  const dataField = `${at.field}.${name}-data`;
  const data = string(value[`${name}-data`], dataField);
  if (data) return { kind: "data", data: decodePem(data, dataField), field: dataField };
  const field = `${at.field}.${name}`;
  const path = string(value[name], field);
  return path ? { kind: "file", path: resolve(at.folder, path), field } : undefined;
}

function decodePem(base64: string, field: string): string {
  const text = Buffer.from(base64, "base64").toString();
  if (!text.includes("-----BEGIN ")) throw new Error(`${field} is not base64 of a PEM text`);
  return text;
}

/** One of the named entries: `clusters: [{ name, cluster: {…} }]`. */
function entry(
  config: Mapping,
  list: "contexts" | "clusters" | "users",
  name: string,
  wantedBy: string,
): Entry {
  const entries: unknown = config[list] ?? [];
  if (!Array.isArray(entries)) throw new Error(`${list} must be a list`);
  const found: unknown = entries.find((candidate) => candidate?.name === name);
  if (found === undefined) {
    throw new Error(`${wantedBy} names ${JSON.stringify(name)}, which is not in ${list}`);
  }
  const singular = list.slice(0, -1);
  const field = `${list}[${JSON.stringify(name)}].${singular}`;
  return { value: mapping(mapping(found, list)[singular] ?? {}, field), field };
}

function mapping(value: unknown, field: string): Mapping {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${field} must be a mapping`);
  }
  return { ...value };
}

function string(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw new Error(`${field} must be a string`);
  return value;
}
