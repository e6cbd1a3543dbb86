import { status } from "@grpc/grpc-js";
import {
  type ContainerEventResponse,
  ImageSpec,
  LinuxContainerResources,
  type Mount,
  NamespaceOption,
  type PodSandboxConfig,
} from "../../cri/generated/cri.ts";
import { createEventHub, type EventHub } from "../../lib/async-queue.ts";
import type { Clock } from "../../lib/clock.ts";
import { messageOf } from "../../lib/message-of.ts";
import { createTimerQueue, type TimerQueue } from "../../lib/timer-queue.ts";
import { type AnnotatedScripts, annotatedContainer, parseAnnotations } from "../scripts/annotations.ts";
import type { Facts, RuleBook } from "../scripts/rules.ts";
import type { ContainerScript, ProbeScript, SandboxScript } from "../scripts/scripts.ts";
import { failure, invalidArgument } from "./failure.ts";
import type { PullPlan } from "./image-store.ts";
import type { ContainerRecord, SandboxRecord, SimulatedState } from "./state.ts";

/** State shared by all calls. */
export interface SimulatedCore extends CoreParts {
  readonly events: EventHub<ContainerEventResponse>;
  readonly timers: TimerQueue;
  readonly dedupe: Deduplicator;
  /** Cancel functions of planned exits, by container id. */
  readonly planned: Map<string, () => void>;
  /** Waiters for the exit of a container, by container id. */
  readonly waiting: Map<string, Set<() => void>>;
  /** Ids of containers that are being started. */
  readonly starting: Set<string>;
  /** Pulls in progress, by image id. Further callers join them. */
  readonly pulls: Map<string, ActivePull>;
}

export interface ActivePull {
  readonly plan: PullPlan;
  readonly pullStartedAt: number;
  callers: number;
}

interface CoreParts {
  readonly state: SimulatedState;
  readonly rules: RuleBook;
  readonly clock: Clock;
  /** Available runtime handlers. */
  readonly handlers: Set<string>;
  /** Whether images are present without a pull, except those with a rule for pulls. */
  readonly imagesPresent: boolean;
}

/** Queue limit per subscriber, sufficient for bursts of thousands of pods. */
const maxPendingEvents = 20_000;

export function createCore({ state, rules, clock, handlers, imagesPresent }: CoreParts): SimulatedCore {
  return {
    state,
    rules,
    clock,
    handlers,
    imagesPresent,
    events: createEventHub({
      capacity: maxPendingEvents,
      overflow: () =>
        failure(status.RESOURCE_EXHAUSTED, `the subscriber fell more than ${maxPendingEvents} events behind`),
    }),
    timers: createTimerQueue({ clock }),
    dedupe: createDeduplicator(),
    planned: new Map(),
    waiting: new Map(),
    starting: new Set(),
    pulls: new Map(),
  };
}

/**
 * Deduplicates equal values to save memory: messages from a socket are copies, and pods of one template differ little.
 * Shared values must not be modified.
 */
interface Deduplicator {
  text(value: string): string;
  /** Deduplicates values only, because they differ between pods. */
  labels(values: Readonly<Record<string, string>>): Record<string, string>;
  image(value: ImageSpec): ImageSpec;
  resources(value: LinuxContainerResources | undefined): LinuxContainerResources | undefined;
  namespaces(value: NamespaceOption | undefined): NamespaceOption | undefined;
  mounts(values: readonly Mount[]): Partial<Mount>[];
}

interface Encoder<T> {
  encode(message: T): { finish(): Uint8Array };
}

/** Table size at which it is cleared. Clearing only costs duplicates. */
const capacity = 200;

export function createDeduplicator(): Deduplicator {
  const texts = new Map<string, string>();
  const text = (value: string) => keep(texts, value, value);
  return {
    text,
    labels: (values) => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(value)])),
    image: shareMessages(ImageSpec),
    resources: optional(shareMessages(LinuxContainerResources)),
    namespaces: optional(shareMessages(NamespaceOption)),
    mounts: (values) => values.map((mount) => dropDefaults(mount, text)),
  };
}

function shareMessages<T>(type: Encoder<T>): (value: T) => T {
  const known = new Map<string, T>();
  return (value) => keep(known, Buffer.from(type.encode(value).finish()).toString("latin1"), value);
}

function optional<T>(share: (value: T) => T): (value: T | undefined) => T | undefined {
  return (value) => value && share(value);
}

function keep<T>(known: Map<string, T>, key: string, value: T): T {
  const same = known.get(key);
  if (same !== undefined) return same;
  if (known.size >= capacity) known.clear();
  known.set(key, value);
  return value;
}

/** Omits default values, which are most fields of a mount. */
function dropDefaults(mount: Mount, text: (value: string) => string): Partial<Mount> {
  const said = Object.entries(mount).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
  return { ...Object.fromEntries(said), containerPath: text(mount.containerPath) };
}

type Deps = Pick<SimulatedCore, "rules">;

export function sandboxScript({ rules }: Deps, sandbox: SandboxRecord): SandboxScript {
  return rules.scriptFor("sandbox", sandboxFacts(sandbox), sandbox.scripts?.sandbox);
}

export function containerScript(
  { rules }: Deps,
  { sandbox, metadata, image }: Pick<ContainerRecord, "sandbox" | "metadata" | "image">,
): ContainerScript {
  const facts = containerFacts({ sandbox, metadata, image });
  return rules.scriptFor("container", facts, annotatedContainer(sandbox.scripts, metadata.name));
}

export function probeScript({ rules }: Deps, container: ContainerRecord, probe: string): ProbeScript {
  return rules.scriptFor("probe", { ...containerFacts(container), probe });
}

function containerFacts({
  sandbox,
  metadata,
  image,
}: Pick<ContainerRecord, "sandbox" | "metadata" | "image">): Facts {
  return {
    ...sandboxFacts(sandbox),
    container: metadata.name,
    attempt: metadata.attempt,
    image: image.userSpecifiedImage || image.image,
  };
}

function sandboxFacts({ metadata, handler }: Pick<SandboxRecord, "metadata" | "handler">): Facts {
  const { namespace, name, uid } = metadata;
  return { namespace, pod: name, uid, handler };
}

/** Parses the scripts in a pod's annotations. Invalid annotations fail the call. */
export function annotatedScripts({ annotations }: PodSandboxConfig): AnnotatedScripts | undefined {
  try {
    return parseAnnotations(annotations);
  } catch (error) {
    throw invalidArgument(messageOf(error));
  }
}
