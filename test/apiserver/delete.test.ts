import { expect, test } from "vitest";
import type { KubeObject } from "../../src/api/meta/objects.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { makePod } from "../support/manifests/pod.ts";
import { configMaps, pods, useSharedServer } from "../support/servers/shared-server.ts";

const server = useSharedServer();

test("delete removes at once and returns the object", async () => {
  const created = await server.json("POST", configMaps, makeConfigMap("gone"));
  expect(await server.json("DELETE", `${configMaps}/gone`)).toMatchObject({
    kind: "Status",
    status: "Success",
    details: { name: "gone", kind: "configmaps", uid: created.metadata.uid },
  });
  expect(await server.fails("GET", `${configMaps}/gone`)).toMatchObject({ code: 404, reason: "NotFound" });
});

test("removing the last finalizer deletes the object", async () => {
  await server.json("POST", configMaps, makeConfigMap("held", { finalizers: ["kindling.dev/test"] }));
  const marked = await server.json("DELETE", `${configMaps}/held`);
  expect(marked.metadata.deletionTimestamp).toBeDefined();
  await server.json("PUT", `${configMaps}/held`, {
    ...marked,
    metadata: { ...marked.metadata, finalizers: [] },
  });
  expect((await server.call("GET", `${configMaps}/held`)).status).toBe(404);
});

test("a pod on a node gets its grace period; without one it is deleted at once", async () => {
  await server.json("POST", pods, makePod("graceful", { nodeName: "n", terminationGracePeriodSeconds: 7 }));
  const marked = await server.json("DELETE", `${pods}/graceful`);
  expect(marked.metadata).toMatchObject({ deletionGracePeriodSeconds: 7 });
  expect((await server.call("GET", `${pods}/graceful`)).status).toBe(200);
  await server.json("DELETE", `${pods}/graceful`, { gracePeriodSeconds: 0 });
  expect((await server.call("GET", `${pods}/graceful`)).status).toBe(404);
});

test("the largest grace period gives a date that clients can parse", async () => {
  const gracePeriodSeconds = Number.MAX_SAFE_INTEGER;
  await server.json(
    "POST",
    pods,
    makePod("patient", { nodeName: "n", terminationGracePeriodSeconds: undefined }),
  );
  const marked = await server.json("DELETE", `${pods}/patient`, { gracePeriodSeconds });
  expect(marked.metadata).toMatchObject({
    deletionGracePeriodSeconds: gracePeriodSeconds,
    deletionTimestamp: "9999-12-31T23:59:59Z",
  });
  const sooner = await server.json("DELETE", `${pods}/patient`, { gracePeriodSeconds: 5 });
  expect(sooner.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 });
});

test("preconditions that do not hold are a conflict", async () => {
  await server.json("POST", configMaps, makeConfigMap("precondition"));
  expect(
    await server.fails("DELETE", `${configMaps}/precondition`, { preconditions: { uid: "other" } }),
  ).toMatchObject({ code: 409 });
});

test("deletes the objects of a collection that match the selector", async () => {
  for (const [name, app] of [
    ["c1", "x"],
    ["c2", "x"],
    ["c3", "y"],
  ] as const) {
    await server.json("POST", configMaps, makeConfigMap(name, { labels: { app } }));
  }
  await server.json("DELETE", `${configMaps}?labelSelector=app%3Dx`);
  const left = await Promise.all(
    ["c1", "c2", "c3"].map((name) => server.call("GET", `${configMaps}/${name}`)),
  );
  expect(left.map((response) => response.status)).toEqual([404, 404, 200]);
});

test("recreates the kubernetes service when it is deleted", async () => {
  const path = "/api/v1/namespaces/default/services/kubernetes";
  const before = await server.json("GET", path);
  await server.json("DELETE", path);
  await expect.poll(async () => (await server.call("GET", path)).status).toBe(200);
  const after = await server.json<KubeObject & { spec: object }>("GET", path);
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.spec).toMatchObject({ clusterIP: "10.96.0.1" });
});
