import { StatusError } from "../api/status-error.ts";
import type { Client, ObjectTypes, Patch, ResourceName } from "../client/client.ts";
import { resourceNamed } from "../client/resource-path.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { type Duration, toMs } from "./duration.ts";
import { explain, explainHoldUp, formatExplanation, WaitTimeoutError } from "./explain-wait.ts";
import { describeKey, inNamespace, keyOf } from "./object-key.ts";
import { type ManifestEntry, readManifest } from "./read-manifest.ts";
import type { ListSelection, NewObject, TestClient } from "./test-client.ts";
import { hasCondition, waitUntil } from "./wait-until.ts";

const defaultTimeout: Duration = "30s";
const pageSize = 500;
/** For the words of an error: it must not hold a test up that has waited already. */
const explainWithinMs = 5_000;

/** `clock` is the cluster's: only what is said of since when goes by it. */
export function createTestClient({
  client,
  clock,
}: {
  readonly client: Client;
  readonly clock: Clock;
}): TestClient {
  async function wait<Name extends ResourceName>(
    target: { readonly resource: Name; readonly key: ReturnType<typeof keyOf> },
    wish: {
      readonly what: string;
      readonly timeout?: Duration;
      isDone(object: ObjectTypes[Name] | undefined): boolean;
    },
  ): Promise<ObjectTypes[Name] | undefined> {
    const timeoutMs = toMs(wish.timeout ?? defaultTimeout, "timeout");
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(late), Math.min(timeoutMs, 2 ** 31 - 1));
    try {
      return await waitUntil(client, target, { isDone: wish.isDone, signal: ending.signal });
    } catch (error) {
      if (error !== late) throw error;
      throw await timedOut(target, `not ${wish.what} within ${timeoutMs / 1_000} s`);
    } finally {
      clearTimeout(timer);
      ending.abort(late);
    }
  }

  async function timedOut(
    target: { readonly resource: ResourceName; readonly key: ReturnType<typeof keyOf> },
    what: string,
  ): Promise<WaitTimeoutError> {
    const name = describeKey(target.resource, target.key);
    try {
      const held = await explainHoldUp({ client, clock }, target, AbortSignal.timeout(explainWithinMs));
      const said = held ? `\n  pod ${held.pod} is ${formatExplanation(held.explanation)}` : "";
      return new WaitTimeoutError(`${name}: ${what}${said}`, held?.explanation);
    } catch (error) {
      const why = messageOf(error);
      return new WaitTimeoutError(`${name}: ${what}; ${why}`, undefined);
    }
  }

  async function applyOne({ resource, object }: ManifestEntry) {
    // Every row of the table of resources has its name in ObjectTypes.
    const name = resource.plural as ResourceName;
    const placed = inNamespace(resource, object);
    try {
      return await client.create(name, placed as ObjectTypes[typeof name]);
    } catch (error) {
      if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
      return client.patch(name, keyOf(name, placed), { patch: { kind: "strategic", body: placed } });
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
      // Without a revision the server begins with what is there.
      for await (const event of client.watch(resource, { ...selection, resourceVersion: "", signal }))
        if (event.type !== "BOOKMARK") yield event;
    },

    async apply(manifest) {
      const applied = [];
      // One after the other: a namespace comes before what is in it.
      for (const entry of readManifest(manifest)) applied.push(await applyOne(entry));
      return applied;
    },

    async waitFor(resource, ref, until, { timeout } = {}) {
      const holds = typeof until === "string" ? hasCondition(until) : until;
      const what = typeof until === "string" ? until : `as asked (${String(until)})`;
      const found = await wait(
        { resource, key: keyOf(resource, ref) },
        { what, timeout, isDone: (object) => object !== undefined && holds(object) },
      );
      if (!found) throw new Error("waited for an object and found none");
      return found;
    },
    async waitUntilGone(resource, ref, { timeout } = {}) {
      const target = { resource, key: keyOf(resource, ref) };
      await wait(target, { what: "gone", timeout, isDone: (object) => object === undefined });
    },
    why: async (pod) => explain({ client, clock }, keyOf("pods", pod), AbortSignal.timeout(explainWithinMs)),
    request: (method, path, body) => client.request(method, path, { body }),
  };
}

/** The reason of a wait that has taken too long. */
const late = new Error("the time is over");

/** The API's own type of it asks for apiVersion and kind, which the client writes. */
function complete<Name extends ResourceName>(name: Name, object: NewObject<Name>): ObjectTypes[Name] {
  return inNamespace(resourceNamed(name), object) as ObjectTypes[Name];
}

function patchOf(type: Patch["kind"], body: unknown): Patch {
  if (type !== "json") return { kind: type, body };
  if (Array.isArray(body)) return { kind: type, body };
  throw new TypeError('a patch of type "json" is a list of operations');
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
