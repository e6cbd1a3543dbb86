import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { isMapping } from "../../lib/is-mapping.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type Impersonation, impersonationProblem } from "./impersonation.ts";

/** PEM data embedded in a kubeconfig, or the path of a file. */
export type Source =
  | { readonly kind: "data"; readonly data: string; readonly field: string }
  | { readonly kind: "file"; readonly path: string; readonly field: string };

/** Parsed context of a kubeconfig. Referenced files are not read yet. */
export interface Kubeconfig {
  readonly server: URL;
  readonly serverName?: string;
  readonly insecure: boolean;
  readonly authority?: Source;
  /** Client certificate and key. */
  readonly certificate?: { readonly cert: Source; readonly key: Source };
  readonly token?: string;
  /** Takes precedence over `token` while it is readable. */
  readonly tokenFile?: string;
  readonly exec?: ExecPlugin;
  readonly impersonation?: Impersonation;
  /** Default namespace of the context. */
  readonly namespace?: string;
}

/** Credential plugin. */
export interface ExecPlugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** Shown when the program is not installed. */
  readonly installHint?: string;
  readonly field: string;
}

export interface KubeconfigFile {
  readonly text: string;
  /** Base of relative paths, and prefix of error messages. */
  readonly path: string;
}

/** The kubeconfig file is missing, unreadable or invalid. */
export class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeconfigError";
  }
}

type Mapping = Readonly<Record<string, unknown>>;
/** Content of a file, and the folder of its relative paths. */
type Config = Mapping & { readonly folder: string };

/** Merges several files like kubectl: the first file that defines an entry wins. */
export function parseKubeconfig(files: readonly KubeconfigFile[], context?: string): Kubeconfig {
  const paths = files.map(({ path }) => path).join(":");
  try {
    const configs = files.map(({ text, path }) => ({
      ...mapping(parse(text) ?? {}, "the file"),
      folder: dirname(path),
    }));
    return context === undefined
      ? readContext(configs, currentContext(configs), "current-context")
      : readContext(configs, context, "the requested context");
  } catch (error) {
    throw new KubeconfigError(`kubeconfig ${paths}: ${messageOf(error)}`, { cause: error });
  }
}

/** Names of all contexts in the order of the files. */
export function contextNames(files: readonly KubeconfigFile[]): readonly string[] {
  const names = files.flatMap(({ text }) =>
    list(mapping(parse(text) ?? {}, "the file").contexts, "contexts").flatMap((item) =>
      isMapping(item) ? (string(item.name, "contexts.name") ?? []) : [],
    ),
  );
  return [...new Set(names)];
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
      `${field}.proxy-url: proxies are not supported; use a server that can be reached directly`,
    );
  }
  const insecure = value["insecure-skip-tls-verify"] === true;
  const authority = source(value, "certificate-authority", { field, folder });
  if (insecure && authority) {
    throw new Error(
      `${field}: certificate-authority and insecure-skip-tls-verify are mutually exclusive; remove one of them`,
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

/** Authentication fields that are not supported. Ignoring them would authenticate as a different user than kubectl. */
const unsupportedFields: Readonly<Record<string, string>> = {
  "auth-provider": "auth providers are not supported; use a client certificate, a token or a tokenFile",
  username: "passwords are not supported; use a client certificate, a token or a tokenFile",
};

function readUser({ value, field, folder }: Entry) {
  for (const [name, advice] of Object.entries(unsupportedFields)) {
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
    impersonation: readImpersonation(value, field),
  };
}

function readImpersonation(value: Mapping, field: string): Impersonation | undefined {
  const strings = (item: unknown, name: string) => list(item, name).map((text) => string(text, name) ?? "");
  const extra = mapping(value["as-user-extra"] ?? {}, `${field}.as-user-extra`);
  const impersonation: Impersonation = {
    user: string(value.as, `${field}.as`),
    uid: string(value["as-uid"], `${field}.as-uid`),
    groups: strings(value["as-groups"], `${field}.as-groups`),
    extra: Object.fromEntries(
      Object.entries(extra).map(([key, item]) => [key, strings(item, `${field}.as-user-extra.${key}`)]),
    ),
  };
  const problem = impersonationProblem(impersonation);
  if (problem) throw new Error(`${field}: ${problem}; set as`);
  return impersonation.user ? impersonation : undefined;
}

function readExec(value: Mapping, field: string, folder: string): ExecPlugin {
  const command = string(value.command, `${field}.command`);
  if (!command) throw new Error(`${field}.command is not set: name the program`);
  if (value.interactiveMode === "Always") {
    throw new Error(`${field}.interactiveMode: interactive programs are not supported; use a token`);
  }
  return {
    // A name is searched in PATH; a relative path is resolved against the kubeconfig.
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

/** Reads `NAME-data`, else the path in `NAME`. */
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
  if (!text.includes("-----BEGIN ")) throw new Error(`${field} is not base64-encoded PEM`);
  return text;
}

/** Finds a named entry: `clusters: [{ name, cluster: {…} }]`. */
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
  const available = known.length > 0 ? `; available: ${known.join(", ")}` : "";
  throw new Error(`${wantedBy} names ${JSON.stringify(name)}, which is not in ${kind}${available}`);
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
