import type { KubeObject } from "../../api/meta/objects.ts";
import { notFound } from "../../api/meta/status-error.ts";
import type { Client, WatchEvent } from "../../client/api/client.ts";
import type { Clock } from "../../lib/clock.ts";

type Events = (event: WatchEvent<KubeObject>) => void;

/** API server for tests whose objects can be changed and watched, and that can be disconnected. */
export interface FakeApi {
  readonly client: Client;
  /** Creates or replaces an object. */
  put(
    resource: string,
    object: { metadata: { name: string; namespace?: string }; [field: string]: unknown },
  ): void;
  remove(resource: string, namespace: string, name: string): void;
  breakConnection(): void;
  mendConnection(): void;
  /** Open watches as `resource namespace selector`. */
  watches(): string[];
  /** Number of reads of single objects. */
  readonly reads: string[];
  readonly tokenRequests: { path: string; spec: unknown }[];
}

export function createFakeApi(clock: Clock): FakeApi {
  const objects = new Map<string, KubeObject>();
  const watching = new Map<Events, string>();
  const history: { revision: number; key: string; event: WatchEvent<KubeObject> }[] = [];
  const reads: string[] = [];
  const tokenRequests: FakeApi["tokenRequests"] = [];
  let revision = 1;
  let broken = false;

  function check(): void {
    if (broken) throw new Error("connection refused");
  }

  function emit(event: WatchEvent<KubeObject>, key: string): void {
    history.push({ revision, key, event });
    if (broken) return;
    for (const [send, selected] of watching) if (selected === key) send(event);
  }

  const client = {
    async get(resource: string, { namespace, name }: { namespace?: string; name: string }) {
      check();
      const key = keyOf(resource, namespace, name);
      reads.push(key);
      const found = objects.get(key);
      if (!found) throw notFound({ group: "", plural: resource }, name);
      return found;
    },
    async list(
      resource: string,
      { namespace, fieldSelector }: { namespace?: string; fieldSelector?: string },
    ) {
      check();
      const found = objects.get(keyOf(resource, namespace, nameIn(fieldSelector)));
      return { items: found ? [found] : [], resourceVersion: `${revision}` };
    },
    async *watch(
      resource: string,
      options: { namespace?: string; fieldSelector?: string; resourceVersion: string; signal?: AbortSignal },
    ): AsyncGenerator<WatchEvent<KubeObject>> {
      check();
      const key = keyOf(resource, options.namespace, nameIn(options.fieldSelector));
      const from = Number(options.resourceVersion);
      const missed = history.filter((past) => past.key === key && past.revision > from);
      const queue = missed.map((past) => past.event);
      let wake = () => {};
      const send: Events = (event) => {
        queue.push(event);
        wake();
      };
      watching.set(send, key);
      options.signal?.addEventListener("abort", () => wake());
      try {
        while (!options.signal?.aborted) {
          check();
          const event = queue.shift();
          if (event) yield event;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        watching.delete(send);
      }
    },
    async request(
      _method: string,
      path: string,
      { body }: { body: { spec: { expirationSeconds?: number } } },
    ) {
      check();
      tokenRequests.push({ path, spec: body.spec });
      const seconds = body.spec.expirationSeconds ?? 3_600;
      const expirationTimestamp = new Date(clock.now() + seconds * 1_000).toISOString();
      return {
        spec: { expirationSeconds: seconds },
        status: { token: `token-${tokenRequests.length}`, expirationTimestamp },
      };
    },
  };

  return {
    // Other methods are not called by these tests.
    client: client as unknown as Client,
    put(resource, object) {
      const key = keyOf(resource, object.metadata.namespace, object.metadata.name);
      const type = objects.has(key) ? "MODIFIED" : "ADDED";
      const stored: KubeObject = {
        apiVersion: "v1",
        kind: "",
        ...object,
        metadata: { ...object.metadata, resourceVersion: `${++revision}` },
      };
      objects.set(key, stored);
      emit({ type, object: stored }, key);
    },
    remove(resource, namespace, name) {
      const key = keyOf(resource, namespace, name);
      const object = objects.get(key);
      objects.delete(key);
      revision++;
      if (object) emit({ type: "DELETED", object }, key);
    },
    breakConnection() {
      broken = true;
      // All watches fail.
      for (const send of watching.keys()) send({ type: "BOOKMARK", resourceVersion: `${revision}` });
    },
    mendConnection() {
      broken = false;
    },
    watches: () => [...watching.values()],
    reads,
    tokenRequests,
  };
}

function keyOf(resource: string, namespace = "", name = ""): string {
  return `${resource} ${namespace}/${name}`;
}

function nameIn(fieldSelector = ""): string {
  return fieldSelector.replace(/^metadata\.name=/, "");
}
