import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { isMapping } from "../lib/is-mapping.ts";
import { messageOf } from "../lib/message-of.ts";

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
  readonly exec?: ExecPlugin;
  /** Where commands of this context look unless told. */
  readonly namespace?: string;
}

/** A program that says who one is, as clouds have them. */
export interface ExecPlugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** What to tell who does not have the program. */
  readonly installHint?: string;
  readonly field: string;
}

export interface KubeconfigFile {
  readonly text: string;
  /** Other files are found relative to it, and messages begin with it. */
  readonly path: string;
}

/** The file itself is wrong: not there, not to be read, or no kubeconfig. */
export class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
  }
}

type Mapping = Readonly<Record<string, unknown>>;
/** A file's content, and where its relative paths begin. */
type Config = Mapping & { readonly folder: string };

/** Several files count as one, as they do for kubectl: of what two of them name, the first one's is taken. */
export function parseKubeconfig(files: readonly KubeconfigFile[], context?: string): Kubeconfig {
  const paths = files.map(({ path }) => path).join(":");
  try {
    const configs = files.map(({ text, path }) => ({
      ...mapping(parse(text) ?? {}, "the file"),
      folder: dirname(path),
    }));
    return context === undefined
      ? readContext(configs, currentContext(configs), "current-context")
      : readContext(configs, context, "the context asked for");
  } catch (error) {
    throw new KubeconfigError(`kubeconfig ${paths}: ${messageOf(error)}`, { cause: error });
  }
}

function currentContext(configs: readonly Config[]): string {
  for (const config of configs) {
    const name = string(config["current-context"], "current-context");
    if (name) return name;
  }
  throw new Error("current-context is not set: set it to the name of one of the contexts");
}

function readContext(configs: readonly Config[], name: string, wantedBy: string): Kubeconfig {
  const { value, field } = entry(configs, "contexts", name, wantedBy);
  const clusterName = string(value.cluster, `${field}.cluster`);
  if (!clusterName) throw new Error(`${field}.cluster is not set: name one of the clusters`);
  const userName = string(value.user, `${field}.user`);
  return {
    ...readCluster(entry(configs, "clusters", clusterName, `${field}.cluster`)),
    // A context without a user is anonymous, as it is for kubectl.
    ...(userName && readUser(entry(configs, "users", userName, `${field}.user`))),
    namespace: string(value.namespace, `${field}.namespace`),
  };
}

interface Entry {
  readonly value: Mapping;
  /** `clusters["prod"].cluster` */
  readonly field: string;
  readonly folder: string;
}

function readCluster({ value, field, folder }: Entry) {
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
  "auth-provider": "auth providers are not supported; use a client certificate, a token or a tokenFile",
  username: "passwords are not supported; use a client certificate, a token or a tokenFile",
  as: "impersonation is not supported; use the credentials of that user",
};

function readUser({ value, field, folder }: Entry) {
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
    exec: value.exec ? readExec(mapping(value.exec, `${field}.exec`), `${field}.exec`, folder) : undefined,
  };
}

function readExec(value: Mapping, field: string, folder: string): ExecPlugin {
  const command = string(value.command, `${field}.command`);
  if (!command) throw new Error(`${field}.command is not set: name the program`);
  if (value.interactiveMode === "Always") {
    throw new Error(`${field}.interactiveMode: programs that ask questions are not supported; use a token`);
  }
  return {
    // A name is looked for on the PATH, a path is one beside the file.
    command: command.includes("/") ? resolve(folder, command) : command,
    args: list(value.args, `${field}.args`).map((arg) => string(arg, `${field}.args`) ?? ""),
    env: Object.fromEntries(
      list(value.env, `${field}.env`).map((item) => {
        const { name, value: text } = mapping(item, `${field}.env`);
        return [string(name, `${field}.env.name`) ?? "", string(text, `${field}.env.value`) ?? ""];
      }),
    ),
    apiVersion: string(value.apiVersion, `${field}.apiVersion`) ?? "client.authentication.k8s.io/v1",
    installHint: string(value.installHint, `${field}.installHint`),
    field,
  };
}

function list(value: unknown, field: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${field} must be a list`);
  return value;
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
  configs: readonly Config[],
  kind: "contexts" | "clusters" | "users",
  name: string,
  wantedBy: string,
): Entry {
  const singular = kind.slice(0, -1);
  const field = `${kind}[${JSON.stringify(name)}].${singular}`;
  for (const config of configs) {
    const found = list(config[kind], kind).find((item) => isMapping(item) && item.name === name);
    if (isMapping(found)) {
      return { value: mapping(found[singular] ?? {}, field), field, folder: config.folder };
    }
  }
  const known = configs
    .flatMap((config) => list(config[kind], kind))
    .flatMap((item) => (isMapping(item) && typeof item.name === "string" ? item.name : []));
  const there = known.length > 0 ? `; there are ${known.join(", ")}` : "";
  throw new Error(`${wantedBy} names ${JSON.stringify(name)}, which is not in ${kind}${there}`);
}

function mapping(value: unknown, field: string): Mapping {
  if (!isMapping(value)) throw new Error(`${field} must be a mapping`);
  return value;
}

function string(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw new Error(`${field} must be a string`);
  return value;
}
