import { afterEach, expect, test } from "vitest";
import type { PodSpec } from "../../api/meta/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createFakeApi } from "../volumes/fake-api.fixture.ts";
import { createReferencedObjects, objectReferences } from "./referenced-objects.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function start() {
  const clock = createManualClock(1_000_000);
  const api = createFakeApi(clock);
  const objects = createReferencedObjects({ client: api.client, clock, logger: silentLogger });
  const notified: string[] = [];
  objects.onChange((podUid) => notified.push(podUid));
  const stop = new AbortController();
  const running = objects.run(stop.signal);
  ends.push(async () => {
    stop.abort();
    await running;
  });
  /** Lets everything that can happen now happen. */
  const settle = async () => {
    for (let turn = 0; turn < 5; turn++) await clock.advance(0);
  };
  return { clock, api, objects, notified, settle };
}

const podWith = (uid: string, ...names: string[]) =>
  makePod({ volumes: names.map((name) => ({ name, configMap: { name } })) }, { uid });
const configMap = (name: string, more: object = {}) => ({ metadata: { namespace: "shop", name }, ...more });

test("finds every reference of a pod once", () => {
  const spec: Partial<PodSpec> = {
    initContainers: [{ name: "i", image: "i", envFrom: [{ secretRef: { name: "env-secret" } }] }],
    containers: [
      {
        name: "c",
        image: "i",
        envFrom: [{ configMapRef: { name: "env-map" } }],
        env: [
          { name: "A", valueFrom: { configMapKeyRef: { name: "key-map", key: "k" } } },
          { name: "B", valueFrom: { secretKeyRef: { name: "key-secret", key: "k" } } },
        ],
      },
    ],
    volumes: [
      { name: "a", configMap: { name: "key-map" } },
      { name: "b", secret: { secretName: "volume-secret" } },
      {
        name: "c",
        projected: { sources: [{ configMap: { name: "p-map" } }, { secret: { name: "p-secret" } }] },
      },
    ],
    imagePullSecrets: [{ name: "pull" }],
  };
  expect(
    objectReferences(makePod(spec)).map(
      ({ resource, namespace, name }) => `${resource} ${namespace}/${name}`,
    ),
  ).toEqual([
    "configmaps shop/key-map",
    "secrets shop/volume-secret",
    "configmaps shop/p-map",
    "secrets shop/p-secret",
    "secrets shop/env-secret",
    "secrets shop/key-secret",
    "configmaps shop/env-map",
    "secrets shop/pull",
  ]);
});

test("watches an object once for all pods until the last one is gone", async () => {
  const { api, objects, settle } = start();
  objects.register(podWith("u-1", "web"));
  objects.register(podWith("u-2", "web"));
  objects.register(podWith("u-2", "web"));
  await settle();
  expect(api.watches()).toEqual(["configmaps shop/web"]);
  objects.unregister("u-1");
  await settle();
  expect(api.watches()).toHaveLength(1);
  objects.register(podWith("u-2", "other"));
  await settle();
  expect(api.watches()).toEqual(["configmaps shop/other"]);
  objects.unregister("u-2");
  objects.unregister("u-2");
  await settle();
  expect(api.watches()).toEqual([]);
});

test("reads from a synced watch and notifies every pod that refers to a changed object", async () => {
  const { api, objects, notified, settle } = start();
  api.put("configmaps", configMap("web", { data: { a: "1" } }));
  objects.register(podWith("u-1", "web"));
  expect((await objects.getConfigMap("shop", "web"))?.data).toEqual({ a: "1" });
  await settle();
  objects.register(podWith("u-2", "web"));
  await objects.getConfigMap("shop", "web");
  expect(api.reads).toHaveLength(1);
  expect(notified).toEqual([]);

  api.put("configmaps", configMap("web", { data: { a: "2" } }));
  await settle();
  expect(notified).toEqual(["u-1", "u-2"]);
  expect((await objects.getConfigMap("shop", "web"))?.data).toEqual({ a: "2" });
  api.remove("configmaps", "shop", "web");
  await settle();
  expect(notified).toEqual(["u-1", "u-2", "u-1", "u-2"]);
  expect(await objects.getConfigMap("shop", "web")).toBeUndefined();
});

test("asks the API server for a missing object on each read", async () => {
  const { api, objects, notified, settle } = start();
  objects.register(podWith("u-1", "late"));
  await settle();
  expect(await objects.getConfigMap("shop", "late")).toBeUndefined();
  api.put("configmaps", configMap("late"));
  // The watch has not delivered it yet.
  expect(await objects.getConfigMap("shop", "late")).toBeDefined();
  await settle();
  expect(notified).toEqual(["u-1"]);
});

test("notifies pods of a change between their read and the first list", async () => {
  const { api, objects, notified, settle, clock } = start();
  api.put("configmaps", configMap("web", { data: { a: "1" } }));
  api.breakConnection();
  objects.register(podWith("u-1", "web"));
  await settle();
  api.mendConnection();
  await objects.getConfigMap("shop", "web");
  api.put("configmaps", configMap("web", { data: { a: "2" } }));
  await clock.advance(10_000);
  expect(notified).toEqual(["u-1"]);
});

test("reads an immutable object once and does not watch it", async () => {
  const { api, objects, settle } = start();
  api.put("configmaps", configMap("fixed", { immutable: true }));
  objects.register(podWith("u-1", "fixed"));
  await settle();
  expect(api.watches()).toEqual([]);
  await objects.getConfigMap("shop", "fixed");
  objects.register(podWith("u-2", "fixed"));
  expect(await objects.getConfigMap("shop", "fixed")).toMatchObject({ immutable: true });
  await settle();
  expect([api.watches(), api.reads]).toEqual([[], []]);
});

test("serves known objects while the API server is unreachable and throws for others", async () => {
  const { api, objects, notified, settle, clock } = start();
  api.put("secrets", { metadata: { namespace: "shop", name: "key" }, data: { a: "MQ==" } });
  const pod = makePod({ imagePullSecrets: [{ name: "key" }] });
  objects.register(pod);
  await settle();
  api.breakConnection();
  await settle();
  expect((await objects.getSecret("shop", "key"))?.data).toEqual({ a: "MQ==" });
  await expect(objects.getSecret("shop", "unknown")).rejects.toThrow("connection refused");

  api.put("secrets", { metadata: { namespace: "shop", name: "key" }, data: { a: "Mg==" } });
  api.mendConnection();
  await clock.advance(60_000);
  expect(notified).toEqual(["u-1"]);
  expect((await objects.getSecret("shop", "key"))?.data).toEqual({ a: "Mg==" });
});
