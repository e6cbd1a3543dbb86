import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { joinHostPort } from "../../lib/join-host-port.ts";
import { messageOf } from "../../lib/message-of.ts";
import type { Impersonation } from "./impersonation.ts";
import {
  contextNames,
  type ExecPlugin,
  type Kubeconfig,
  KubeconfigError,
  type KubeconfigFile,
  parseKubeconfig,
  type Source,
} from "./kubeconfig.ts";

/** Address of a cluster, trusted CA and client credentials. */
export interface ClusterAccess {
  readonly server: URL;
  readonly tls: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    /** Name in the server's certificate, if it differs from its address. */
    readonly serverName?: string;
    readonly insecure?: boolean;
  };
  /** Returns the current bearer token. */
  readonly token?: () => Promise<string>;
  readonly impersonation?: Impersonation;
  /** Default namespace of commands. */
  readonly namespace?: string;
}

/** Loads one file, or a colon-separated list as in `KUBECONFIG`, of which missing files are ignored. */
export async function loadKubeconfig(
  paths: string,
  { clock = systemClock, context }: { readonly clock?: Clock; readonly context?: string } = {},
): Promise<ClusterAccess> {
  return readAccess(parseKubeconfig(await readConfigFiles(paths), context), clock);
}

/** Loads the names of all contexts. */
export async function loadContextNames(paths: string): Promise<readonly string[]> {
  return contextNames(await readConfigFiles(paths));
}

async function readConfigFiles(paths: string): Promise<readonly KubeconfigFile[]> {
  const named = paths.split(delimiter).filter(Boolean);
  const files = await Promise.all(named.map((path) => readConfigFile(path, named.length > 1)));
  const found = files.filter((file) => file !== undefined);
  if (found.length === 0) throw new KubeconfigError(`kubeconfig ${paths}: none of these files exists`);
  return found;
}

async function readConfigFile(path: string, mayBeMissing: boolean): Promise<KubeconfigFile | undefined> {
  try {
    return { path, text: await readFile(path, "utf8") };
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isMissing && mayBeMissing) return undefined;
    const problem = isMissing ? "does not exist" : `cannot be read: ${messageOf(error)}`;
    throw new KubeconfigError(`kubeconfig ${path} ${problem}`, { cause: error });
  }
}

interface InClusterEnvironment {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Mount path of the service account. */
  readonly folder: string;
  readonly clock: Clock;
}

/** Loads the access of the pod that this process runs in. */
export async function loadInClusterAccess(
  options: Partial<InClusterEnvironment> = {},
): Promise<ClusterAccess> {
  const {
    environment = process.env,
    folder = "/var/run/secrets/kubernetes.io/serviceaccount",
    clock = systemClock,
  } = options;
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT;
  if (!host || !port) {
    throw new Error(
      "no kubeconfig is given, and this process does not run in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): specify a kubeconfig",
    );
  }
  return readAccess(
    {
      server: new URL(`https://${joinHostPort(host, port)}`),
      insecure: false,
      authority: { kind: "file", path: join(folder, "ca.crt"), field: "the service account's ca.crt" },
      tokenFile: join(folder, "token"),
    },
    clock,
  );
}

async function readAccess(config: Kubeconfig, clock: Clock): Promise<ClusterAccess> {
  const { server, serverName, insecure, authority, certificate, impersonation, namespace } = config;
  const plugin = config.exec && createExecCredential(config.exec, clock);
  const [ca, cert, key, credential] = await Promise.all([
    authority && readSource(authority),
    certificate && readSource(certificate.cert),
    certificate && readSource(certificate.key),
    plugin?.(),
  ]);
  return {
    server,
    // The certificate of a plugin is used for the lifetime of the process.
    tls: {
      ca,
      cert: credential?.certificate?.cert ?? cert,
      key: credential?.certificate?.key ?? key,
      serverName,
      insecure,
    },
    token: credential?.token ? async () => (await plugin?.())?.token ?? "" : await openToken(config, clock),
    impersonation,
    namespace,
  };
}

async function readSource(source: Source): Promise<string> {
  if (source.kind === "data") return source.data;
  const text = await readFile(source.path, "utf8").catch((error: Error) => {
    throw new Error(`${source.field} cannot be read: ${error.message}`, { cause: error });
  });
  if (!text.includes("-----BEGIN ")) throw new Error(`${source.field}: ${source.path} is not a PEM file`);
  return text;
}

/** Token files are replaced long before the token expires; this is the interval between reads. */
const tokenLifeMs = 10_000;

async function openToken(
  { token, tokenFile }: Pick<Kubeconfig, "token" | "tokenFile">,
  clock: Clock,
): Promise<ClusterAccess["token"]> {
  if (!tokenFile) return token === undefined ? undefined : async () => token;
  const read = async () => (await readFile(tokenFile, "utf8")).trim();

  let current = await read().catch((error: Error) => {
    if (token !== undefined) return token;
    throw new Error(`tokenFile cannot be read: ${error.message}`, { cause: error });
  });
  let readAt = clock.now();
  return async () => {
    if (clock.now() - readAt < tokenLifeMs) return current;
    readAt = clock.now();
    // The file can be missing or empty while it is replaced; the previous token is still valid then.
    current = (await read().catch(() => "")) || current;
    return current;
  };
}

/** Output of a credential plugin. */
interface ExecCredential {
  readonly token?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Undefined: valid for the lifetime of the process. */
  readonly expiresAt?: number;
}

/** Allows for slow cloud requests, and stops plugins that wait for input. */
const timeoutMs = 60_000;
/** Credentials are renewed this long before they expire. */
const renewBeforeMs = 30_000;

/** Returns the current credential. Runs the plugin when it is missing or expires; concurrent callers share one run. */
export function createExecCredential(
  plugin: ExecPlugin,
  clock: Clock,
  run: (plugin: ExecPlugin) => Promise<string> = runPlugin,
): () => Promise<ExecCredential> {
  let last: ExecCredential | undefined;
  let pending: Promise<ExecCredential> | undefined;

  async function runAndParse(): Promise<ExecCredential> {
    last = parseExecCredential(await run(plugin), plugin);
    return last;
  }

  return async () => {
    if (last && (last.expiresAt === undefined || clock.now() < last.expiresAt - renewBeforeMs)) return last;
    pending ??= runAndParse().finally(() => {
      pending = undefined;
    });
    return pending;
  };
}

export function parseExecCredential(text: string, { field, apiVersion }: ExecPlugin): ExecCredential {
  const { kind, apiVersion: printed, status } = readJson(text, field);
  if (kind !== "ExecCredential" || printed !== apiVersion) {
    throw new Error(`${field}: the program did not print an ExecCredential of ${apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status ?? {};
  if (!token && !(cert && key))
    throw new Error(`${field}: the program printed neither token nor certificate`);
  const expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : undefined;
  return {
    ...(token && { token }),
    ...(cert && key && { certificate: { cert, key } }),
    ...(expiresAt !== undefined && !Number.isNaN(expiresAt) && { expiresAt }),
  };
}

interface Printed {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function readJson(text: string, field: string): Printed {
  try {
    return JSON.parse(text) ?? {};
  } catch (error) {
    // The output is not included: it may contain a secret.
    throw new Error(`${field}: the program did not print JSON`, { cause: error });
  }
}

function runPlugin({ command, args, env, apiVersion, installHint, field }: ExecPlugin): Promise<string> {
  const info = { kind: "ExecCredential", apiVersion, spec: { interactive: false } };
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      [...args],
      {
        env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        timeout: timeoutMs,
        maxBuffer: 1 << 20,
      },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const missing = "code" in error && error.code === "ENOENT";
        const why = missing ? `${command} is not installed` : stderr.trim() || error.message;
        reject(new Error([`${field}: ${why}`, missing && installHint].filter(Boolean).join("\n")));
      },
    );
    child.stdin?.end();
  });
}
