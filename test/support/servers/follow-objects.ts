import { expect } from "vitest";
import type { KubeObject } from "../../../src/api/meta/objects.ts";
import type {
  Client,
  ObjectTypes,
  ResourceName,
  Selection,
  WatchEvent,
} from "../../../src/client/api/client.ts";

export type ObjectEvent<Name extends ResourceName> = Exclude<
  WatchEvent<ObjectTypes[Name]>,
  { type: "BOOKMARK" }
>;

export interface Following {
  /** Waits until every change up to now was seen, and ends the watch. */
  stop(): Promise<void>;
}

export interface FollowOptions<Name extends ResourceName> {
  readonly client: Client;
  readonly resource: Name;
  readonly selection: Omit<Selection, "signal">;
  onEvent(event: ObjectEvent<Name>): void;
  /** Receives the objects that exist before the first event. */
  onList?(items: readonly ObjectTypes[Name][]): void;
  /** Whether the server may end the watch, because the test kills it. By default `stop` rejects then. */
  readonly mayEnd?: boolean;
}

/** Watches objects from now on. */
export async function followObjects<Name extends ResourceName>(
  options: FollowOptions<Name>,
): Promise<Following> {
  const { client, resource, selection, onEvent, onList, mayEnd = false } = options;
  const list = () => client.list(resource, selection);
  const { items, resourceVersion } = await list();
  onList?.(items);
  const seen = new Map(items.map(versionOf));
  const ending = new AbortController();
  let end: { readonly error?: unknown } | undefined;
  const done = (async () => {
    const watchOptions = { ...selection, resourceVersion, signal: ending.signal };
    for await (const event of client.watch(resource, watchOptions)) {
      if (event.type === "BOOKMARK") continue;
      if (event.type === "DELETED") seen.delete(event.object.metadata.uid);
      else seen.set(...versionOf(event.object));
      onEvent(event);
    }
    end = {};
  })().catch((error) => {
    end = ending.signal.aborted ? {} : { error };
  });
  /** Other watches, and lists, may be ahead of this one. */
  const hasSeenAll = async () => {
    const { items: current } = await list();
    return (
      current.length === seen.size &&
      current.every(({ metadata }) => seen.get(metadata.uid) === metadata.resourceVersion)
    );
  };
  return {
    async stop() {
      if (!end) await expect.poll(hasSeenAll, { interval: 20 }).toBe(true);
      ending.abort(new Error("the test ends the watch"));
      await done;
      if (end?.error && !mayEnd) throw end.error;
    },
  };
}

function versionOf({ metadata }: KubeObject): [uid: string | undefined, version: string | undefined] {
  return [metadata.uid, metadata.resourceVersion];
}
