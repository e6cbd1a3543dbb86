import { expect, test } from "vitest";
import type { KubeObject } from "../../src/api/objects.ts";
import { configMap, configMaps, pod, pods, useSharedServer } from "../support/shared-server.ts";

const server = useSharedServer();

test("delete removes at once and says what", async () => {
  const created = await server.json("POST", configMaps, configMap("gone"));
  expect(await server.json("DELETE", `${configMaps}/gone`)).toMatchObject({
    kind: "Status",
    status: "Success",
    details: { name: "gone", kind: "configmaps", uid: created.metadata.uid },
  });
  expect(await server.fails("GET", `${configMaps}/gone`)).toMatchObject({ code: 404, reason: "NotFound" });
});

test("delete waits for finalizers, and the last one off removes it", async () => {
  await server.json("POST", configMaps, configMap("held", {}, { finalizers: ["kindling.dev/test"] }));
  const marked = await server.json("DELETE", `${configMaps}/held`);
  expect(marked.metadata.deletionTimestamp).toBeDefined();
  await server.json("PUT", `${configMaps}/held`, {
    ...marked,
    metadata: { ...marked.metadata, finalizers: [] },
  });
  expect((await server.call("GET", `${configMaps}/held`)).status).toBe(404);
});

test("a pod on a node gets its grace period; without grace it goes at once", async () => {
  await server.json("POST", pods, pod("graceful", { nodeName: "n", terminationGracePeriodSeconds: 7 }));
  const marked = await server.json("DELETE", `${pods}/graceful`);
  expect(marked.metadata).toMatchObject({ deletionGracePeriodSeconds: 7 });
  expect((await server.call("GET", `${pods}/graceful`)).status).toBe(200);
  await server.json("DELETE", `${pods}/graceful`, { gracePeriodSeconds: 0 });
  expect((await server.call("GET", `${pods}/graceful`)).status).toBe(404);
});

test("a grace period as long as a number can be is a date that clients can read", async () => {
  const gracePeriodSeconds = Number.MAX_SAFE_INTEGER;
  await server.json("POST", pods, pod("patient", { nodeName: "n" }));
  const marked = await server.json("DELETE", `${pods}/patient`, { gracePeriodSeconds });
  expect(marked.metadata).toMatchObject({
    deletionGracePeriodSeconds: gracePeriodSeconds,
    deletionTimestamp: "9999-12-31T23:59:59Z",
  });
  const sooner = await server.json("DELETE", `${pods}/patient`, { gracePeriodSeconds: 5 });
  expect(sooner.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 });
});

test("preconditions that do not hold are a conflict", async () => {
  await server.json("POST", configMaps, configMap("precondition"));
  expect(
    await server.fails("DELETE", `${configMaps}/precondition`, { preconditions: { uid: "other" } }),
  ).toMatchObject({ code: 409 });
});

test("delete of a collection takes what the selector matches", async () => {
  for (const [name, app] of [
    ["c1", "x"],
    ["c2", "x"],
    ["c3", "y"],
  ] as const) {
    await server.json("POST", configMaps, configMap(name, {}, { labels: { app } }));
  }
  await server.json("DELETE", `${configMaps}?labelSelector=app%3Dx`);
  const left = await Promise.all(
    ["c1", "c2", "c3"].map((name) => server.call("GET", `${configMaps}/${name}`)),
  );
  expect(left.map((response) => response.status)).toEqual([404, 404, 200]);
});

test("the kubernetes service comes back when it is deleted", async () => {
  const path = "/api/v1/namespaces/default/services/kubernetes";
  const before = await server.json("GET", path);
  await server.json("DELETE", path);
  await expect.poll(async () => (await server.call("GET", path)).status).toBe(200);
  const after = await server.json<KubeObject & { spec: object }>("GET", path);
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.spec).toMatchObject({ clusterIP: "10.96.0.1" });
});
