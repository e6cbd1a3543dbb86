import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../api/meta/objects.ts";
import type { Resource } from "../api/meta/resource.ts";
import { StatusError } from "../api/meta/status-error.ts";
import type { Client, ObjectKey, ObjectTypes, Patch, ResourceName } from "../client/api/client.ts";
import { resourceNamed, resourceOfKind } from "../client/api/resource-path.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import {
  type Duration,
  type ListSelection,
  type NewObject,
  type ObjectRef,
  type TestClient,
  toMs,
} from "./test-client.ts";
import {
  explain,
  explainBlockingPod,
  formatExplanation,
  hasCondition,
  WaitTimeoutError,
  waitUntil,
} from "./wait-until.ts";

const defaultTimeout: Duration = "30s";
const pageSize = 500;
/** Timeout for the explanation in an error, because the test has already waited. */
const explainTimeoutMs = 5_000;

/** Creates the client of a test. `clock` is the cluster's clock, used for durations in explanations. */
export function createTestClient({
  client,
  clock,
}: {
  readonly client: Client;
  readonly clock: Clock;
}): TestClient {
  async function wait<Name extends ResourceName>(
    target: { readonly resource: Name; readonly key: ReturnType<typeof keyOf> },
    goal: {
      readonly what: string;
      readonly timeout?: Duration;
      isDone(object: ObjectTypes[Name] | undefined): boolean;
    },
  ): Promise<ObjectTypes[Name] | undefined> {
    const timeoutMs = toMs(goal.timeout ?? defaultTimeout, "timeout");
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(timeoutReason), Math.min(timeoutMs, 2 ** 31 - 1));
    try {
      return await waitUntil(client, target, { isDone: goal.isDone, signal: ending.signal });
    } catch (error) {
      if (error !== timeoutReason) throw error;
      throw await timedOut(target, `not ${goal.what} within ${timeoutMs / 1_000} s`);
    } finally {
      clearTimeout(timer);
      ending.abort(timeoutReason);
    }
  }

  async function timedOut(
    target: { readonly resource: ResourceName; readonly key: ReturnType<typeof keyOf> },
    what: string,
  ): Promise<WaitTimeoutError> {
    const name = describeKey(target.resource, target.key);
    try {
      const blocking = await explainBlockingPod(
        { client, clock },
        target,
        AbortSignal.timeout(explainTimeoutMs),
      );
      const explained = blocking
        ? `\n  pod ${blocking.pod} is ${formatExplanation(blocking.explanation)}`
        : "";
      return new WaitTimeoutError(`${name}: ${what}${explained}`, blocking?.explanation);
    } catch (error) {
      const why = messageOf(error);
      return new WaitTimeoutError(`${name}: ${what}; ${why}`, undefined);
    }
  }

  async function applyOne({ resource, object }: ManifestEntry) {
    // Every built-in resource is a key of ObjectTypes.
    const name = resource.plural as ResourceName;
    const namespaced = inNamespace(resource, object);
    try {
      return await client.create(name, namespaced as ObjectTypes[typeof name]);
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
      return client.patch(name, keyOf(name, namespaced), { patch: { kind: "strategic", body: namespaced } });
    }
  }

  return {
    create: (resource, object) => client.create(resource, complete(resource, object)),
    get: async (resource, ref) => client.get(resource, keyOf(resource, ref)),
    list: (resource, selection) => listAll(client, resource, selection),
    update: (resource, object, options) => client.update(resource, object, options),
    patch: async (resource, ref, body, { type = "strategic", subresource } = {}) =>
      client.patch(resource, keyOf(resource, ref), { patch: patchOf(type, body), subresource }),
    delete: async (resource, ref, options) => client.delete(resource, keyOf(resource, ref), options),

    async *watch(resource, { signal, ...selection } = {}) {
      // Without a revision the server first sends the existing objects.
      for await (const event of client.watch(resource, { ...selection, resourceVersion: "", signal }))
        if (event.type !== "BOOKMARK") yield event;
    },

    async apply(manifest) {
      const applied = [];
      // In order: a namespace is created before its objects.
      for (const entry of readManifest(manifest)) applied.push(await applyOne(entry));
      return applied;
    },

    async waitFor(resource, ref, until, { timeout } = {}) {
      const holds = typeof until === "string" ? hasCondition(until) : until;
      const what = typeof until === "string" ? until : `matching (${String(until)})`;
      const found = await wait(
        { resource, key: keyOf(resource, ref) },
        { what, timeout, isDone: (object) => object !== undefined && holds(object) },
      );
      if (!found) throw new Error("the wait ended without an object");
      return found;
    },
    async waitUntilGone(resource, ref, { timeout } = {}) {
      const target = { resource, key: keyOf(resource, ref) };
      await wait(target, { what: "gone", timeout, isDone: (object) => object === undefined });
    },
    why: async (pod) => explain({ client, clock }, keyOf("pods", pod), AbortSignal.timeout(explainTimeoutMs)),
    request: (method, path, body) => client.request(method, path, { body }),
  };
}

/** Abort reason of a wait that timed out. */
const timeoutReason = new Error("timed out");

/** Adds the namespace. The client adds apiVersion and kind, which the type requires. */
function complete<Name extends ResourceName>(name: Name, object: NewObject<Name>): ObjectTypes[Name] {
  return inNamespace(resourceNamed(name), object) as ObjectTypes[Name];
}

function patchOf(type: Patch["kind"], body: unknown): Patch {
  if (type !== "json") return { kind: type, body };
  if (Array.isArray(body)) return { kind: type, body };
  throw new TypeError('a patch of type "json" has to be a list of operations');
}

async function listAll<Name extends ResourceName>(
  client: Client,
  resource: Name,
  selection: ListSelection = {},
): Promise<ObjectTypes[Name][]> {
  const all: ObjectTypes[Name][] = [];
  let next: string | undefined;
  do {
    const page = await client.list(resource, { ...selection, limit: pageSize, continue: next });
    all.push(...page.items);
    next = page.continue;
  } while (next);
  return all;
}

const defaultNamespace = "default";

/** Key of an object, with its namespace or `default` if the resource is namespaced. */
function keyOf(resource: ResourceName, ref: ObjectRef): ObjectKey {
  const given = typeof ref === "string" ? { name: ref } : "metadata" in ref ? ref.metadata : ref;
  const { name = "" } = given;
  if (name === "") throw new TypeError(`metadata.name is missing in the reference to one of ${resource}`);
  const namespace = "namespace" in given ? given.namespace : undefined;
  return resourceNamed(resource).namespaced ? { namespace: namespace ?? defaultNamespace, name } : { name };
}

/** The object with its namespace, or `default` if the resource is namespaced. */
function inNamespace<T extends { metadata: { namespace?: string } }>(
  { namespaced }: { readonly namespaced: boolean },
  object: T,
): T {
  if (!namespaced || object.metadata.namespace) return object;
  return { ...object, metadata: { ...object.metadata, namespace: defaultNamespace } };
}

/** Formats a key for messages: `pods shop/web`, `nodes node-1`. */
function describeKey(resource: ResourceName, { namespace, name }: ObjectKey): string {
  return `${resource} ${namespace ? `${namespace}/` : ""}${name}`;
}

export interface ManifestEntry {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** Parses the objects of a manifest, including those of lists. Throws a TypeError that names the invalid document. */
export function readManifest(manifest: string | object | readonly object[]): readonly ManifestEntry[] {
  const documents: readonly unknown[] =
    typeof manifest === "string" ? parseText(manifest) : Array.isArray(manifest) ? manifest : [manifest];
  return documents
    .filter((document) => document !== null && document !== undefined)
    .flatMap((document, index) => readDocument(document, `document ${index + 1}`));
}

function parseText(text: string): unknown[] {
  const documents = parseAllDocuments(text);
  if ("empty" in documents) return [];
  return documents.map((document) => {
    const [problem] = document.errors;
    if (problem) throw new TypeError(`the manifest is not YAML: ${problem.message}`);
    // Limits aliases, which could otherwise expand without bound.
    return document.toJS({ maxAliasCount: 100 });
  });
}

function readDocument(value: unknown, place: string): ManifestEntry[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new TypeError(`${place} is not an object with apiVersion, kind and metadata`);
  const { apiVersion, kind, items } = value as { apiVersion?: unknown; kind?: unknown; items?: unknown };
  if (typeof apiVersion !== "string" || typeof kind !== "string")
    throw new TypeError(`${place}: apiVersion and kind must be set`);
  if (kind === "List") {
    if (!Array.isArray(items)) throw new TypeError(`${place}: items of a List must be set`);
    return items.flatMap((item: unknown, index) => readDocument(item, `${place}, items[${index}]`));
  }
  const resource = resourceOfKind(apiVersion, kind);
  if (!resource) throw new TypeError(`${place}: kind ${kind} does not exist in ${apiVersion}`);
  return [{ resource, object: { metadata: {}, ...value, apiVersion, kind } }];
}
