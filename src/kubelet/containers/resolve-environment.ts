import { isIPv6 } from "node:net";
import { envVarNameProblems } from "../../api/meta/names.ts";
import type { ConfigMap, Container, Pod, Secret, Service } from "../../api/meta/objects.ts";
import { type Addresses, podField, resourceField } from "../model/downward-api.ts";
import { createExpand } from "../model/expand.ts";
import { configError } from "../model/start-error.ts";
import { parseEnvFile } from "./parse-env-file.ts";

/** Sources of environment variables. Undefined means that the object does not exist. */
export interface EnvironmentSources {
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  getService(namespace: string, name: string): Promise<Service | undefined>;
  listServices(namespace: string): Promise<Iterable<Service>>;
}

interface EnvironmentRequest extends Addresses {
  readonly pod: Pod;
  readonly container: Container;
  /** Allocatable resources of the node, which are the defaults of missing limits. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Reads a file in one of the pod's volumes. */
  readonly readVolumeFile: (volumeName: string, path: string) => Promise<string>;
  readonly signal: AbortSignal;
}

/** Values are bytes, because Secrets need not be text. */
export type Environment = ReadonlyMap<string, Buffer>;

interface ResolvedEnvironment {
  readonly environment: Environment;
  /** Messages of `InvalidEnvironmentVariableNames` events: keys that were skipped. */
  readonly warnings: readonly string[];
}

/**
 * Resolves the container's environment in upstream's order: envFrom, then env, where each variable may refer to earlier
 * ones, then the remaining service variables. Throws CreateContainerConfigError.
 */
export async function resolveEnvironment(
  sources: EnvironmentSources,
  request: EnvironmentRequest,
): Promise<ResolvedEnvironment> {
  const { pod, container } = request;
  const lookUps = rememberLookUps(sources, pod.metadata.namespace ?? "", request.signal);
  const services = await visibleServices(sources, pod);
  const environment = new Map<string, Buffer>();
  const warnings: string[] = [];
  const expand = createExpand();

  for (const { configMapRef, secretRef, prefix = "" } of container.envFrom ?? []) {
    const found = configMapRef
      ? await lookUps.configMap(configMapRef)
      : secretRef && (await lookUps.secret(secretRef));
    const skipped: string[] = [];
    for (const [key, value] of found?.values ?? []) {
      const name = `${prefix}${key}`;
      if (envVarNameProblems(name).length > 0) skipped.push(name);
      else environment.set(name, value);
    }
    if (found && skipped.length > 0) warnings.push(skippedMessage(skipped.sort(), found.title));
  }

  for (const variable of container.env ?? []) {
    const value = variable.value
      ? expandBytes(variable.value)
      : await valueFrom(variable.valueFrom, { ...request, lookUps });
    if (value) environment.set(variable.name, value);
  }

  for (const [name, value] of services) {
    if (!environment.has(name)) environment.set(name, Buffer.from(value));
  }
  return { environment, warnings };

  /** latin1 maps each byte to one character, so that binary values pass unchanged. */
  function expandBytes(text: string): Buffer {
    const expanded = expand(Buffer.from(text).toString("latin1"), (name) => {
      const known = environment.get(name);
      return known ? known.toString("latin1") : services.get(name);
    });
    return Buffer.from(expanded, "latin1");
  }
}

type ValueSource = NonNullable<NonNullable<Container["env"]>[number]["valueFrom"]>;

/** Undefined leaves the variable out: the object or key that it refers to is optional and missing. */
async function valueFrom(
  source: ValueSource | undefined,
  request: EnvironmentRequest & { lookUps: LookUps },
): Promise<Buffer | undefined> {
  const { pod, lookUps } = request;
  if (source?.fieldRef) return Buffer.from(podField(pod, source.fieldRef.fieldPath, request));
  if (source?.resourceFieldRef) return Buffer.from(resourceField(request, source.resourceFieldRef));
  if (source?.configMapKeyRef) return keyOf(source.configMapKeyRef, lookUps.configMap);
  if (source?.secretKeyRef) return keyOf(source.secretKeyRef, lookUps.secret);
  if (source?.fileKeyRef) return fromFile(source.fileKeyRef, request);
  return Buffer.alloc(0);
}

interface Reference {
  readonly name?: string;
  readonly optional?: boolean;
}

async function keyOf(ref: Reference & { readonly key: string }, lookUp: LookUp): Promise<Buffer | undefined> {
  const found = await lookUp(ref);
  const value = found?.values.get(ref.key);
  if (value || !found || ref.optional) return value;
  throw configError(`couldn't find key ${ref.key} in ${found.title}`);
}

async function fromFile(
  { volumeName, path, key, optional }: NonNullable<ValueSource["fileKeyRef"]>,
  { readVolumeFile }: EnvironmentRequest,
): Promise<Buffer | undefined> {
  let value: string | undefined;
  try {
    value = parseEnvFile(await readVolumeFile(volumeName, path), key);
  } catch (error) {
    // As upstream, the message does not quote the file, whose content belongs to the container.
    throw configError("couldn't parse env file", { cause: error });
  }
  if (value) return Buffer.from(value);
  if (optional) return undefined;
  throw configError(
    `environment variable key ${JSON.stringify(key)} not found in file ${JSON.stringify(path)}`,
  );
}

type Values = ReadonlyMap<string, Buffer>;

interface Found {
  readonly values: Values;
  /** `ConfigMap shop/settings`. */
  readonly title: string;
}

/** Undefined for an optional object that does not exist. */
type LookUp = (ref: Reference) => Promise<Found | undefined>;

interface LookUps {
  readonly configMap: LookUp;
  readonly secret: LookUp;
}

/** Reads each object once per container, so that its variables are consistent. */
function rememberLookUps(sources: EnvironmentSources, namespace: string, signal: AbortSignal): LookUps {
  return {
    configMap: remember(`ConfigMap ${namespace}`, async (name) => {
      const found = await sources.getConfigMap(namespace, name, signal);
      return found && decode(found.data, "utf8");
    }),
    secret: remember(`Secret ${namespace}`, async (name) => {
      const found = await sources.getSecret(namespace, name, signal);
      return found && decode(found.data, "base64");
    }),
  };
}

function remember(place: string, read: (name: string) => Promise<Values | undefined>): LookUp {
  const known = new Map<string, Values>();
  return async ({ name = "", optional }) => {
    const values = known.get(name) ?? (await read(name));
    if (values) {
      known.set(name, values);
      return { values, title: `${place}/${name}` };
    }
    if (optional) return undefined;
    const [kind = ""] = place.toLowerCase().split(" ");
    throw configError(`${kind} ${JSON.stringify(name)} not found`);
  };
}

function decode(data: Readonly<Record<string, string>> = {}, encoding: "utf8" | "base64"): Values {
  return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)]));
}

/** The service of the API server, and the namespace's services unless enableServiceLinks is false. */
async function visibleServices(
  sources: EnvironmentSources,
  { metadata, spec }: Pod,
): Promise<ReadonlyMap<string, string>> {
  const api = await sources.getService("default", "kubernetes");
  const links =
    spec?.enableServiceLinks === false ? [] : await sources.listServices(metadata.namespace ?? "");
  const visible = new Map(
    [...(api ? [api] : []), ...links].map((service) => [service.metadata.name, service]),
  );
  return serviceVariables(visible.values());
}

/** Upstream's message begins with a lower-case letter. */
function skippedMessage(names: readonly string[], title: string): string {
  const source = `${title.charAt(0).toLowerCase()}${title.slice(1)}`;
  const why = "were skipped since they are considered invalid environment variable names.";
  return `Keys [${names.join(", ")}] from the EnvFrom ${source} ${why}`;
}

export type Variables = Map<string, string>;

/** Environment variables for services: `{SVC}_SERVICE_HOST` and Docker links. */
export function serviceVariables(services: Iterable<Service>): Variables {
  const variables: Variables = new Map();
  for (const service of services) {
    for (const [name, value] of variablesOf(service)) variables.set(name, value);
  }
  return variables;
}

function variablesOf(service: Service): [name: string, value: string][] {
  const { clusterIP = "", ports = [] } = service.spec ?? {};
  const [first] = ports;
  if (clusterIP === "" || clusterIP === "None" || !first) return [];
  const prefix = variableName(service.metadata.name ?? "");
  const host = isIPv6(clusterIP) ? `[${clusterIP}]` : clusterIP;
  return [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap(({ name, port }): [string, string][] =>
      name ? [[`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)]] : [],
    ),
    [`${prefix}_PORT`, `${protocolOf(first)}://${host}:${first.port}`],
    ...ports.flatMap((port): [string, string][] => {
      const protocol = protocolOf(port);
      const portPrefix = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
      return [
        [portPrefix, `${protocol}://${host}:${port.port}`],
        [`${portPrefix}_PROTO`, protocol],
        [`${portPrefix}_PORT`, String(port.port)],
        [`${portPrefix}_ADDR`, clusterIP],
      ];
    }),
  ];
}

function protocolOf({ protocol }: { protocol?: string }): string {
  return (protocol || "TCP").toLowerCase();
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}
