import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { Client } from "../api/client.ts";
import { createInformer } from "./informer.ts";

const pod = (resourceVersion: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "ns", name: "a", uid: "u", resourceVersion, annotations: { large: "x" } },
});

test("an informer with trim caches and emits trimmed objects", async () => {
  const stop = new AbortController();
  const client: Partial<Client> = {
    list: async () => ({ items: [pod("1")], resourceVersion: "1" }) as never,
    async *watch() {
      yield { type: "MODIFIED", object: pod("2") } as never;
      yield { type: "DELETED", object: pod("3") } as never;
      stop.abort(new Error("seen enough"));
    },
  };
  const informer = createInformer({
    client: client as Client,
    resource: "pods",
    clock: systemClock,
    logger: silentLogger,
    trim: ({ metadata: { annotations: _, ...metadata }, ...rest }) => ({ ...rest, metadata }),
  });
  const emitted: string[] = [];
  informer.onChange(({ kind, object, listed }) => {
    expect(object.metadata).not.toHaveProperty("annotations");
    emitted.push(`${kind} ${object.metadata.resourceVersion}${listed ? " listed" : ""}`);
  });
  await informer.run(stop.signal);
  expect(emitted).toEqual(["added 1 listed", "changed 2", "deleted 3"]);
});
