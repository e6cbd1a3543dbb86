import { envVarNameProblems } from "../../api/names.ts";
import type { ConfigMap, Container, Pod, Secret, Service } from "../../api/objects.ts";
import { configError } from "./config-error.ts";
import { type Addresses, podField, resourceField } from "./downward-fields.ts";
import { createExpand } from "./expand.ts";
import { parseEnvFile } from "./parse-env-file.ts";
import { serviceVariables } from "./service-variables.ts";

/** Where a container's environment comes from. Undefined is for what does not exist. */
export interface EnvironmentSources {
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  getService(namespace: string, name: string): Promise<Service | undefined>;
  listServices(namespace: string): Promise<Iterable<Service>>;
}

interface EnvironmentRequest extends Addresses {
  readonly pod: Pod;
  readonly container: Container;
  /** What the node can give: the limits of a container that has none. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** A file in a volume of the pod. */
  readonly readVolumeFile: (volumeName: string, path: string) => Promise<string>;
  readonly signal: AbortSignal;
}

/** Values are bytes: secrets need not be text. */
export type Environment = ReadonlyMap<string, Buffer>;

interface ResolvedEnvironment {
  readonly environment: Environment;
  /** For events on the pod, `InvalidEnvironmentVariableNames`: what was left out. */
  readonly warnings: readonly string[];
}

/**
 * The container's environment in upstream's order: config maps and secrets as a whole, then variables one by one, each
 * of which may refer to those before it, then what is left of the services'. Throws CreateContainerConfigError.
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

  /** As one character for each byte, so that values that are no text pass unchanged. */
  function expandBytes(text: string): Buffer {
    const expanded = expand(Buffer.from(text).toString("latin1"), (name) => {
      const known = environment.get(name);
      return known ? known.toString("latin1") : services.get(name);
    });
    return Buffer.from(expanded, "latin1");
  }
}

type ValueSource = NonNullable<NonNullable<Container["env"]>[number]["valueFrom"]>;

/** Undefined leaves the variable out: what it refers to is optional and not there. */
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
    // As upstream, not a word of the file: it is the container's, the message the cluster's.
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

/** Undefined when there is no such object and it is optional. */
type LookUp = (ref: Reference) => Promise<Found | undefined>;

interface LookUps {
  readonly configMap: LookUp;
  readonly secret: LookUp;
}

/** Each object is read once for a container, so that its variables fit together. */
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

/** The API's own service always; the namespace's others unless the pod does not want them. */
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

/** Here upstream writes `configMap` and `secret`. */
function skippedMessage(names: readonly string[], title: string): string {
  const source = `${title.charAt(0).toLowerCase()}${title.slice(1)}`;
  const why = "were skipped since they are considered invalid environment variable names.";
  return `Keys [${names.join(", ")}] from the EnvFrom ${source} ${why}`;
}
