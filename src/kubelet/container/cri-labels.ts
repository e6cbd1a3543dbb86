import type { Container, LifecycleHandler, Pod } from "../../api/objects.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import { hashContainer } from "./container-hash.ts";

/** What ties sandboxes and containers to their pods, under upstream's keys. */
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
  /** Upstream keeps a crash loop's back-off in memory and forgets it. */
  restartDelayMs: "kindling.container.restartDelayMs",
} as const;

type Ports = NonNullable<Container["ports"]>;

/** The pod's own labels too: tools that look at the runtime select by them. */
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
  /** How long the next restart waits after this container's end. */
  readonly restartDelayMs: number;
}

/** Enough to end and to judge the container when nothing of the pod is left but what the runtime has. */
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
  /** How long it has to end; less where its pod was being deleted when it was made. */
  readonly graceSeconds: number | undefined;
  readonly preStop: LifecycleHandler | undefined;
  readonly ports: Ports | undefined;
}

/** What containerAnnotations wrote. What is missing or spoilt reads as not given. */
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
