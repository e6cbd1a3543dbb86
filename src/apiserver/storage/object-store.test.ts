import { describe, expect, onTestFinished, test } from "vitest";
import { configMapKind } from "../../api/kinds/core/config-map/kind.ts";
import { defineKind } from "../../api/kinds/kind-definition.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createMemoryStore } from "../../store/local/memory-store.ts";
import { createKindRegistry } from "../kinds/kind-registry.ts";

import { encodeStored } from "./cached-object.ts";
import { keyPrefix } from "./object-key.ts";
import { createObjectStore } from "./object-store.ts";
import { loadWatchCache } from "./watch-cache.ts";

async function start() {
  const store = createMemoryStore();
  const kinds = createKindRegistry([configMapKind]);
  const cache = await loadWatchCache({ store, clock: systemClock, logger: silentLogger, kinds });
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await store.close();
  });
  const objects = createObjectStore({ store, cache });
  return { store, kinds, cache, objects };
}

describe("kinds that are added and removed", () => {
  const widgetKind = defineKind({
    resource: { group: "example.com", version: "v1", plural: "widgets", kind: "Widget" },
    strategy: {},
  });
  const widgetRef = (name: string) => ({ resource: widgetKind.resource, namespace: "default", name });
  const makeWidget = (name: string) => ({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name, namespace: "default" },
  });

  test("the cache of an added kind contains what is stored and what is written while it loads", async () => {
    const { store, kinds, objects } = await start();
    const prefix = keyPrefix(widgetKind.resource, "default");
    const put = (name: string) => store.create(prefix + name, Buffer.from(encodeStored(makeWidget(name))));
    await put("before");
    const added = kinds.add(widgetKind);
    await put("during");
    await added;
    await objects.create(widgetRef("after"), makeWidget("after"));
    const names = [...objects.cache(widgetKind.resource).range("")].map(
      (object) => object.parse().metadata.name,
    );
    expect(names).toEqual(["after", "before", "during"]);
  });

  test("the cache of a removed kind is dropped, its objects are loaded when it is added again", async () => {
    const { kinds, objects } = await start();
    await kinds.add(widgetKind);
    await objects.create(widgetRef("a"), makeWidget("a"));
    kinds.remove(widgetKind.resource);
    expect(() => objects.getCached(widgetRef("a"))).toThrow("no registered kind is stored as");
    await kinds.add(widgetKind);
    expect(objects.getCached(widgetRef("a"))?.parse().metadata.name).toBe("a");
  });
});
