import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { type Clock, systemClock } from "../lib/clock.ts";
import { joinHostPort } from "../lib/join-host-port.ts";
import { messageOf } from "../lib/message-of.ts";
import { createExecCredential } from "./exec-credential.ts";
import {
  type Kubeconfig,
  KubeconfigError,
  type KubeconfigFile,
  parseKubeconfig,
  type Source,
} from "./kubeconfig.ts";

/** Where a cluster is, whom to trust there, and how to show who one is. */
export interface ClusterAccess {
  readonly server: URL;
  readonly tls: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    /** The name in the server's certificate, where that is not its address. */
    readonly serverName?: string;
    readonly insecure?: boolean;
  };
  /** The bearer token of the moment. */
  readonly token?: () => Promise<string>;
  /** Where commands look unless told. */
  readonly namespace?: string;
}

/** One file, or several with colons between them as in `KUBECONFIG`: then those that are missing are passed over. */
export async function loadKubeconfig(
  paths: string,
  { clock = systemClock, context }: { readonly clock?: Clock; readonly context?: string } = {},
): Promise<ClusterAccess> {
  const named = paths.split(delimiter).filter(Boolean);
  const files = await Promise.all(named.map((path) => readConfigFile(path, named.length > 1)));
  const found = files.filter((file) => file !== undefined);
  if (found.length === 0) throw new KubeconfigError(`kubeconfig ${paths}: none of these files is there`);
  return readAccess(parseKubeconfig(found, context), clock);
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

interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the service account is mounted. */
  readonly folder: string;
  readonly clock: Clock;
}

/** The cluster in one of whose pods this process runs. */
export async function loadInClusterAccess(given: Partial<Surroundings> = {}): Promise<ClusterAccess> {
  const {
    environment = process.env,
    folder = "/var/run/secrets/kubernetes.io/serviceaccount",
    clock = systemClock,
  } = given;
  const host = environment.KUBERNETES_SERVICE_HOST;
  const port = environment.KUBERNETES_SERVICE_PORT;
  if (!host || !port) {
    throw new Error(
      "no kubeconfig is given, and this is not a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): give a kubeconfig",
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
  const { server, serverName, insecure, authority, certificate, namespace } = config;
  const plugin = config.exec && createExecCredential(config.exec, clock);
  const [ca, cert, key, given] = await Promise.all([
    authority && readSource(authority),
    certificate && readSource(certificate.cert),
    certificate && readSource(certificate.key),
    plugin?.(),
  ]);
  return {
    server,
    // A plugin's certificate is for the life of this process: connections are made with the first one.
    tls: {
      ca,
      cert: given?.certificate?.cert ?? cert,
      key: given?.certificate?.key ?? key,
      serverName,
      insecure,
    },
    token: given?.token ? async () => (await plugin?.())?.token ?? "" : await openToken(config, clock),
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

/** A token file is replaced long before what it held expires, so a look this often is enough. */
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
    // In the middle of a replacement the file can be missing or empty: the old token is still good then.
    current = (await read().catch(() => "")) || current;
    return current;
  };
}
