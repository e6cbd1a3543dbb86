import type { Container, LifecycleHandler, Pod } from "../../api/meta/objects.ts";
import { isMapping } from "../../lib/is-mapping.ts";

/** Labels that identify the pod of a sandbox or container, with upstream's keys. */
export const podLabels = {
  name: "io.kubernetes.pod.name",
  namespace: "io.kubernetes.pod.namespace",
  uid: "io.kubernetes.pod.uid",
  container: "io.kubernetes.container.name",
} as const;

const keys = {
  hash: "io.kubernetes.container.hash",
  restartCount: "io.kubernetes.container.restartCount",
  terminationMessagePath: "io.kubernetes.container.terminationMessagePath",
  terminationMessagePolicy: "io.kubernetes.container.terminationMessagePolicy",
  preStopHandler: "io.kubernetes.container.preStopHandler",
  ports: "io.kubernetes.container.ports",
  deletionGracePeriod: "io.kubernetes.pod.deletionGracePeriod",
  terminationGracePeriod: "io.kubernetes.pod.terminationGracePeriod",
  /** Not an upstream key: upstream keeps the crash loop back-off in memory only. */
  restartDelayMs: "kindling.container.restartDelayMs",
} as const;

type Ports = NonNullable<Container["ports"]>;

/** Labels of a sandbox, including the pod's own labels for tools that select by them. */
export function sandboxLabels({ metadata }: Pod): Record<string, string> {
  return { ...metadata.labels, ...identity(metadata) };
}

export function containerLabels({ metadata }: Pod, container: Container): Record<string, string> {
  return { ...identity(metadata), [podLabels.container]: container.name };
}

function identity({ name = "", namespace = "", uid = "" }: Pod["metadata"]): Record<string, string> {
  return { [podLabels.name]: name, [podLabels.namespace]: namespace, [podLabels.uid]: uid };
}

export interface Attempt {
  readonly attempt: number;
  /** Back-off between the exit of this container and its restart. */
  readonly restartDelayMs: number;
}

/** Annotations with everything that is needed to terminate the container when only the runtime knows its pod. */
export function containerAnnotations(
  { metadata, spec }: Pod,
  container: Container,
  { attempt, restartDelayMs }: Attempt,
): Record<string, string> {
  const { lifecycle, ports = [] } = container;
  const annotations: Record<string, string | undefined> = {
    [keys.hash]: hashContainer(container),
    [keys.restartCount]: String(attempt),
    [keys.terminationMessagePath]: container.terminationMessagePath ?? "",
    [keys.terminationMessagePolicy]: container.terminationMessagePolicy ?? "",
    [keys.deletionGracePeriod]: metadata.deletionGracePeriodSeconds?.toString(),
    [keys.terminationGracePeriod]: spec?.terminationGracePeriodSeconds?.toString(),
    [keys.preStopHandler]: lifecycle?.preStop && JSON.stringify(lifecycle.preStop),
    [keys.ports]: ports.length > 0 ? JSON.stringify(ports) : undefined,
    [keys.restartDelayMs]: restartDelayMs > 0 ? String(restartDelayMs) : undefined,
  };
  const entries = Object.entries(annotations);
  return Object.fromEntries(entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}

interface ContainerNotes {
  readonly specHash: string;
  readonly attempt: number | undefined;
  readonly restartDelayMs: number;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  /**
   * Grace period of the container; the pod's deletion grace period if it was being deleted when the container was
   * created.
   */
  readonly graceSeconds: number | undefined;
  readonly preStop: LifecycleHandler | undefined;
  readonly ports: Ports | undefined;
}

/** Reads what containerAnnotations wrote. Missing and malformed values are undefined or empty. */
export function readContainerAnnotations(annotations: Readonly<Record<string, string>>): ContainerNotes {
  return {
    specHash: annotations[keys.hash] ?? "",
    attempt: readCount(annotations[keys.restartCount]),
    restartDelayMs: readCount(annotations[keys.restartDelayMs]) ?? 0,
    terminationMessagePath: annotations[keys.terminationMessagePath] ?? "",
    terminationMessagePolicy: annotations[keys.terminationMessagePolicy] ?? "",
    graceSeconds:
      readCount(annotations[keys.deletionGracePeriod]) ?? readCount(annotations[keys.terminationGracePeriod]),
    preStop: readJson(annotations[keys.preStopHandler], isMapping),
    ports: readJson(annotations[keys.ports], isPorts),
  };
}

function readCount(text = ""): number | undefined {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

function readJson<T>(text: string | undefined, is: (value: unknown) => value is T): T | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return is(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isPorts(value: unknown): value is Ports {
  return Array.isArray(value) && value.every((port) => isMapping(port) && "containerPort" in port);
}

/**
 * Hash of the fields that require a new container when they change: name and image. Equal to upstream's hash, so that a
 * node can switch between the two kubelets without restarting containers.
 */
export function hashContainer({ name, image = "" }: Pick<Container, "name" | "image">): string {
  const bytes = Buffer.from(goJson({ image, name }));
  // Upstream hashes the byte slice in Go's print format instead of the JSON text.
  return fnv32a(`([]uint8)[${bytes.join(" ")}]`).toString(16);
}

/** Go's JSON encoder escapes HTML characters. */
function goJson(value: object): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function fnv32a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** Formats a pod as upstream's messages do: `web_default(8c1f…)`. */
export function describePod({ metadata }: Pod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
}

/** Field path that events use for a container: `spec.containers{web}`. */
export function containerFieldPath(pod: Pod, name: string): string {
  const isInit = pod.spec?.initContainers?.some((container) => container.name === name);
  return `spec.${isInit ? "initContainers" : "containers"}{${name}}`;
}

/** Container id of the runtime, without the scheme of a container status (`containerd://id`). */
export function runtimeContainerId(containerId: string): string {
  return containerId.replace(/^[^/]*:\/\//, "");
}

/** Upstream's annotations for the source of a pod and the hash of its manifest. */
export const sourceAnnotation = "kubernetes.io/config.source";
export const hashAnnotation = "kubernetes.io/config.hash";

/** Whether the pod comes from a manifest file on the node. Such pods run without an API server. */
export function isStaticPod({ metadata }: Pod): boolean {
  const source = metadata.annotations?.[sourceAnnotation];
  return source !== undefined && source !== "api";
}
