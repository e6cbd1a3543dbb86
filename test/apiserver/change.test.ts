import { describe, expect, test } from "vitest";
import type { KubeObject, Node, Pod } from "../../src/api/meta/objects.ts";
import type { Status } from "../../src/api/meta/status-error.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { makePod } from "../support/manifests/pod.ts";
import { configMaps, pods, useSharedServer } from "../support/servers/shared-server.ts";

const server = useSharedServer();

describe("update", () => {
  test("replaces the object, keeps server fields and changes the resourceVersion", async () => {
    const created = await server.json("POST", configMaps, makeConfigMap("put", { data: { a: "1" } }));
    const updated = await server.json<KubeObject & { data: object }>("PUT", `${configMaps}/put`, {
      ...created,
      metadata: { ...created.metadata, creationTimestamp: "2001-01-01T00:00:00Z" },
      data: { a: "2" },
    });
    expect(updated.data).toEqual({ a: "2" });
    expect(updated.metadata.creationTimestamp).toBe(created.metadata.creationTimestamp);
    expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(
      Number(created.metadata.resourceVersion),
    );
  });

  test("of an old version is rejected as a conflict", async () => {
    const created = await server.json("POST", configMaps, makeConfigMap("stale"));
    await server.json("PUT", `${configMaps}/stale`, { ...created, data: { a: "1" } });
    expect(await server.fails("PUT", `${configMaps}/stale`, { ...created, data: { a: "2" } })).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: expect.stringContaining("the object has been modified"),
    });
  });

  test("that changes nothing keeps the version", async () => {
    const created = await server.json("POST", configMaps, makeConfigMap("same", { data: { a: "1" } }));
    const again = await server.json("PUT", `${configMaps}/same`, created);
    expect(again.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
  });

  test("of another uid is a conflict, of another name a bad request", async () => {
    const created = await server.json("POST", configMaps, makeConfigMap("uid"));
    const other = {
      ...created,
      metadata: { ...created.metadata, uid: "00000000-0000-0000-0000-000000000000" },
    };
    expect(await server.fails("PUT", `${configMaps}/uid`, other)).toMatchObject({
      code: 409,
      message: expect.stringContaining("UID in precondition"),
    });
    expect(await server.fails("PUT", `${configMaps}/uid`, makeConfigMap("other"))).toMatchObject({
      code: 400,
    });
    expect(await server.fails("PUT", `${configMaps}/missing`, makeConfigMap("missing"))).toMatchObject({
      code: 404,
    });
  });

  test("of a deleted object, identified by its uid, is a conflict also where an update may create", async () => {
    const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const created = await server.json("POST", leases, { metadata: { name: "gone" }, spec: {} });
    await server.json("DELETE", `${leases}/gone`);
    expect(await server.fails("PUT", `${leases}/gone`, created)).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: expect.stringContaining(`UID in precondition: ${created.metadata.uid}, UID in object meta: `),
    });
  });

  test("podCIDR and podCIDRs of a node agree and are immutable once set", async () => {
    const created = await server.json<Node>("POST", "/api/v1/nodes", { metadata: { name: "cidr" } });
    const put = (podCIDR: string) =>
      server.call("PUT", "/api/v1/nodes/cidr", {
        body: { ...created, metadata: { name: "cidr" }, spec: { podCIDR } },
      });
    expect((await put("10.1.0.0/24")).json<Node>().spec).toEqual({
      podCIDR: "10.1.0.0/24",
      podCIDRs: ["10.1.0.0/24"],
    });
    expect((await put("10.2.0.0/24")).json<Status>().message).toBe(
      'Node "cidr" is invalid: spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    );
  });

  test("status is written through /status only", async () => {
    const created = await server.json<Pod>("POST", pods, makePod("status"));
    const plain = await server.json<Pod>("PUT", `${pods}/status`, {
      ...created,
      status: { phase: "Running" },
    });
    expect(plain.status?.phase).toBe("Pending");
    const status = await server.json<Pod>("PUT", `${pods}/status/status`, {
      ...created,
      metadata: { ...created.metadata, labels: { not: "taken" } },
      spec: { ...created.spec, nodeName: "n" },
      status: { phase: "Running" },
    });
    expect(status.status?.phase).toBe("Running");
    expect(status.spec?.nodeName).toBeUndefined();
  });
});

describe("patch", () => {
  const patch = (path: string, type: string, body: unknown) =>
    server.call("PATCH", path, { body, headers: { "content-type": `application/${type}+json` } });

  test.each([
    { type: "merge-patch", body: { data: { a: null, b: "2" } }, data: { b: "2" } },
    { type: "strategic-merge-patch", body: { data: { b: "2" } }, data: { a: "1", b: "2" } },
    { type: "json-patch", body: [{ op: "replace", path: "/data/a", value: "9" }], data: { a: "9" } },
  ])("$type", async ({ type, body, data }) => {
    await server.json("POST", configMaps, makeConfigMap(type, { data: { a: "1" } }));
    const response = await patch(`${configMaps}/${type}`, type, body);
    expect(response.status, response.text).toBe(200);
    expect(response.json()).toMatchObject({ data });
    expect(response.json<{ data: object }>().data).toEqual(data);
  });

  test("strategic merge knows the merge key of containers", async () => {
    await server.json(
      "POST",
      pods,
      makePod("smp", {
        containers: [
          { name: "a", image: "1" },
          { name: "b", image: "1" },
        ],
      }),
    );
    const body = { spec: { containers: [{ name: "b", image: "2" }] } };
    const patched = (await patch(`${pods}/smp`, "strategic-merge-patch", body)).json<Pod>();
    expect(patched.spec?.containers.map(({ name, image }) => `${name}:${image}`)).toEqual(["a:1", "b:2"]);
  });

  test("applies all concurrent patches", async () => {
    await server.json("POST", configMaps, makeConfigMap("racy"));
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`);
    const answers = await Promise.all(
      keys.map((key) => patch(`${configMaps}/racy`, "merge-patch", { data: { [key]: "v" } })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(keys.map(() => 200));
    const { data } = await server.json<{ data: object }>("GET", `${configMaps}/racy`);
    expect(Object.keys(data).sort()).toEqual([...keys].sort());
  });

  test("returns 415 for an unknown patch type", async () => {
    expect((await patch(`${configMaps}/racy`, "other-patch", {})).status).toBe(415);
  });
});
