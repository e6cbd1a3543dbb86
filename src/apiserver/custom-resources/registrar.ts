import {
  type CustomResourceDefinition,
  cleanupFinalizer,
  isConditionTrue,
} from "../../api/custom/custom-resource-definition.ts";
import { loadPatternEngine } from "../../api/custom/pattern.ts";
import { customResourceDefinitionKind } from "../../api/kinds/apiextensions/custom-resource-definition/kind.ts";
import { customKinds } from "../../api/kinds/custom/custom-kinds.ts";
import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import { isEqual } from "../../api/meta/is-equal.ts";
import { formatTime } from "../../api/meta/time.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { KindRegistry } from "../kinds/kind-registry.ts";
import { createLister } from "../storage/lister.ts";
import type { Change, ObjectStore } from "../storage/object-store.ts";
import { type ConversionClient, createWebhookConversion } from "./conversion-webhook.ts";
import { decideStatus, withCondition } from "./decide-status.ts";

interface RegistrarDeps {
  readonly objectStore: ObjectStore;
  readonly kinds: KindRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly webhooks: ConversionClient;
  /** Deletes the objects of a kind. Resolves with the number of objects that remain. */
  deleteObjects(kind: KindDefinition): Promise<number>;
}

/** Serves the custom resources of the stored definitions. */
export interface Registrar {
  /** Registers the kinds of all established definitions. Called before the server is ready. */
  load(): Promise<void>;
  /** Follows the definitions, also those that other servers write, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Kinds of one definition, and the state from which they were made. */
interface Registered {
  readonly key: string;
  readonly kinds: readonly KindDefinition[];
}

const retryMs = 1_000;
/** Delay between checks whether the objects of a deleted definition are gone. */
const remainingCheckMs = 200;

/**
 * Each definition goes through this, whenever it changes:
 *
 *     created ──▶ names accepted ──▶ kinds registered ──▶ Established
 *     deleted ──▶ Terminating ──▶ objects deleted ──▶ finalizer removed ──▶ kinds unregistered
 */
export function createRegistrar(deps: RegistrarDeps): Registrar {
  const { objectStore, kinds, clock } = deps;
  const logger = deps.logger.component("custom-resources");
  const definitions = createLister<CustomResourceDefinition>(objectStore, customResourceDefinitionKind);
  const registered = new Map<string, Registered>();
  const due = new Set<string>();
  let wake = () => {};

  function enqueue(name: string): void {
    due.add(name);
    wake();
  }

  function enqueueGroup(group: string): void {
    for (const { spec, metadata } of definitions.all())
      if (spec.group === group) enqueue(metadata.name ?? "");
  }

  async function register(definition: CustomResourceDefinition): Promise<void> {
    const { metadata, spec } = definition;
    const name = metadata.name ?? "";
    const key = keyOf(definition);
    const before = registered.get(name);
    if (before?.key === key) return;
    const isTerminating = () => definitions.cached("", name)?.metadata.deletionTimestamp !== undefined;
    const webhook =
      spec.conversion?.strategy === "Webhook"
        ? createWebhookConversion(definition, deps.webhooks)
        : undefined;
    const next = customKinds(definition, { isTerminating, webhook });
    const current = [...(before?.kinds ?? [])];
    const served: KindDefinition[] = [];
    for (const kind of next) {
      const index = current.findIndex(({ resource }) => resource.version === kind.resource.version);
      const [replaced] = index >= 0 ? current.splice(index, 1) : [];
      try {
        if (replaced) await kinds.replace(replaced, kind);
        else await kinds.add(kind);
        served.push(kind);
      } catch (error) {
        logger.warn("a custom resource is not served", { name, version: kind.resource.version, error });
      }
    }
    for (const { resource } of current) kinds.remove(resource);
    registered.set(name, { key, kinds: served });
    logger.debug("serving a custom resource", { name, versions: spec.versions?.length ?? 0 });
  }

  function unregister(name: string): void {
    for (const { resource } of registered.get(name)?.kinds ?? []) kinds.remove(resource);
    registered.delete(name);
  }

  async function writeStatus(
    name: string,
    decide: (definition: CustomResourceDefinition) => CustomResourceDefinition | undefined,
  ): Promise<void> {
    const ref = { resource: definitions.resource, namespace: "", name };
    await objectStore.change(ref, (cached): Change => {
      const next = decide(cached.parse() as CustomResourceDefinition);
      if (!next) return { kind: "keep" };
      const isGone =
        next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0;
      return isGone ? { kind: "remove" } : { kind: "put", object: next };
    });
  }

  async function sync(name: string): Promise<void> {
    const definition = definitions.cached("", name);
    if (!definition) {
      unregister(name);
      // Its names are free now.
      const group = name.slice(name.indexOf(".") + 1);
      enqueueGroup(group);
      return;
    }
    const { metadata, spec } = definition;
    if (metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(cleanupFinalizer)) {
      await finalize(definition);
      return;
    }
    // Its own status writes change nothing here.
    if (isSettled(definition) && registered.get(name)?.key === keyOf(definition)) return;
    await loadPatternEngine();
    const others = [...definitions.all()].filter(
      (other) => other.spec.group === spec.group && other.metadata.name !== name,
    );
    const status = decideStatus({ definition, others, now: formatTime(clock.now()) });
    const next = { ...definition, status };
    if (isConditionTrue(next, "Established")) await register(next);
    if (status === definition.status) return;
    await writeStatus(name, (current) =>
      current.metadata.resourceVersion === metadata.resourceVersion ? { ...current, status } : undefined,
    );
    // Names may have become free.
    for (const other of others)
      if (!isConditionTrue(other, "NamesAccepted")) enqueue(other.metadata.name ?? "");
  }

  /** Deletes the objects of a deleted definition, then lets the definition go. */
  async function finalize(definition: CustomResourceDefinition): Promise<void> {
    const name = definition.metadata.name ?? "";
    const established = isConditionTrue(definition, "Established");
    if (established) {
      await register(withServedVersion(definition));
      await writeStatus(name, (current) => {
        const inProgress = {
          type: "Terminating",
          status: "True",
          reason: "InstanceDeletionInProgress",
          message: "CustomResource deletion is in progress",
        };
        return {
          ...current,
          status: withCondition(current.status ?? {}, inProgress, formatTime(clock.now())),
        };
      });
      const [kind] = registered.get(name)?.kinds ?? [];
      const remaining = kind ? await deps.deleteObjects(kind) : 0;
      if (remaining > 0) {
        void clock.sleep(remainingCheckMs).then(() => enqueue(name));
        return;
      }
    }
    const done = established
      ? { reason: "InstanceDeletionCompleted", message: "removed all instances" }
      : { reason: "NeverEstablished", message: "resource was never established" };
    await writeStatus(name, (current) => {
      if (!current.metadata.finalizers?.includes(cleanupFinalizer)) return undefined;
      const finalizers = current.metadata.finalizers.filter((finalizer) => finalizer !== cleanupFinalizer);
      const { finalizers: _, ...rest } = current.metadata;
      const metadata = finalizers.length > 0 ? { ...rest, finalizers } : rest;
      const condition = { type: "Terminating", status: "False", ...done };
      return {
        ...current,
        metadata,
        status: withCondition(current.status ?? {}, condition, formatTime(clock.now())),
      };
    });
  }

  return {
    async load() {
      const established = [...definitions.all()].filter((definition) =>
        isConditionTrue(definition, "Established"),
      );
      await Promise.all(established.map(register));
    },
    async run(signal) {
      const unsubscribe = definitions.onChange((before, after) =>
        enqueue(after?.metadata.name ?? before?.metadata.name ?? ""),
      );
      for (const { metadata } of definitions.all()) {
        const name = metadata.name ?? "";
        // Established definitions have been registered by `load`.
        if (!registered.has(name) || metadata.deletionTimestamp !== undefined) enqueue(name);
      }
      signal.addEventListener("abort", () => wake(), { once: true });
      while (!signal.aborted) {
        const [name] = due;
        if (name === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        due.delete(name);
        try {
          await sync(name);
        } catch (error) {
          if (signal.aborted) break;
          logger.warn("a custom resource definition was not processed; trying again", { name, error });
          void clock.sleep(retryMs, signal).then(
            () => enqueue(name),
            () => {},
          );
        }
      }
      unsubscribe();
    },
  };
}

/** Changes when the kinds of a definition do. */
function keyOf({ metadata, spec, status }: CustomResourceDefinition): string {
  const served = (spec.versions ?? []).filter((version) => version.served).length;
  return JSON.stringify([metadata.uid, metadata.generation, status?.acceptedNames, served]);
}

/**
 * The definition with a served version. Objects are deleted through a kind, so a deleted definition without one serves its
 * storage version until they are gone.
 */
function withServedVersion(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = definition;
  const versions = spec.versions ?? [];
  if (versions.some(({ served }) => served)) return definition;
  return {
    ...definition,
    spec: { ...spec, versions: versions.map((version) => ({ ...version, served: version.storage })) },
  };
}

/** Whether the definition has the names that it requests and is established. */
function isSettled(definition: CustomResourceDefinition): boolean {
  return (
    isConditionTrue(definition, "Established") &&
    isConditionTrue(definition, "NamesAccepted") &&
    isEqual(definition.spec.names, definition.status?.acceptedNames)
  );
}
