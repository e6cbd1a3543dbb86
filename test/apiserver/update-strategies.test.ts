import { describe, expect, test } from "vitest";
import type { StatefulSet } from "../../src/api/meta/objects.ts";
import type { Status } from "../../src/api/meta/status-error.ts";
import { mergePatch, statefulSet, statefulSets, useGatedServer } from "../support/servers/gated-server.ts";

const { restart } = useGatedServer();

describe("3541-1 and 3541-9: EnforcedRollingUpdate", () => {
  const enforced = (rollingUpdate?: object) => ({
    updateStrategy: { type: "EnforcedRollingUpdate", ...(rollingUpdate && { rollingUpdate }) },
  });
  const strategyOf = (set: StatefulSet) => set.spec?.updateStrategy;

  test("with the gate on is accepted, with partition and maxUnavailable", async () => {
    const api = await restart({ EnforcedRollingUpdateInStatefulSet: true });
    const plain = await api.json<StatefulSet>("POST", statefulSets, statefulSet("plain", enforced({})));
    expect(strategyOf(plain)).toEqual({ type: "EnforcedRollingUpdate", rollingUpdate: { partition: 0 } });
    const rollingUpdate = { partition: 2, maxUnavailable: "50%" };
    const full = await api.json<StatefulSet>(
      "POST",
      statefulSets,
      statefulSet("full", enforced(rollingUpdate)),
    );
    expect(strategyOf(full)).toEqual({ type: "EnforcedRollingUpdate", rollingUpdate });
    const switched = await api.call("PATCH", `${statefulSets}/plain`, {
      body: { spec: { updateStrategy: { type: "OnDelete", rollingUpdate: null } } },
      headers: mergePatch,
    });
    expect(strategyOf(switched.json())).toEqual({ type: "OnDelete" });
  });

  test.each([
    [true, "Sometimes", "must be 'RollingUpdate', 'OnDelete', or 'EnforcedRollingUpdate'"],
    [false, "Sometimes", "must be 'RollingUpdate' or 'OnDelete'"],
    [false, "EnforcedRollingUpdate", "must be 'RollingUpdate' or 'OnDelete'"],
  ])("gate %s: %s is refused", async (gate, type, allowed) => {
    const api = await restart({ EnforcedRollingUpdateInStatefulSet: gate });
    const response = await api.call("POST", statefulSets, {
      body: statefulSet("new", { updateStrategy: { type } }),
    });
    expect(response.status).toBe(422);
    expect(response.json<Status>().message).toBe(
      `StatefulSet.apps "new" is invalid: spec.updateStrategy: Invalid value: {"Type":"${type}","RollingUpdate":null}: ${allowed}`,
    );
  });

  test("a stored value is kept when the gate is turned off: the set can be changed, scaled and reset, but the value not set again", async () => {
    const before = await restart({ EnforcedRollingUpdateInStatefulSet: true });
    await before.json("POST", statefulSets, statefulSet("stored", enforced({ partition: 1 })));
    const api = await restart({ EnforcedRollingUpdateInStatefulSet: false });
    const patch = async (body: object) =>
      (await api.call("PATCH", `${statefulSets}/stored`, { body, headers: mergePatch })).status;

    const stored = await api.json<StatefulSet>("GET", `${statefulSets}/stored`);
    expect(strategyOf(stored)).toMatchObject({
      type: "EnforcedRollingUpdate",
      rollingUpdate: { partition: 1 },
    });
    expect(await patch({ metadata: { labels: { a: "b" } } })).toBe(200);
    expect(await patch({ spec: { replicas: 2, template: { metadata: { annotations: { a: "b" } } } } })).toBe(
      200,
    );
    expect(await patch({ spec: enforced({ partition: 2 }) })).toBe(200);
    const status = { ...stored, metadata: { name: "stored" }, status: { replicas: 1 } };
    expect((await api.call("PUT", `${statefulSets}/stored/status`, { body: status })).status).toBe(200);
    expect(strategyOf(await api.json("GET", `${statefulSets}/stored`))).toMatchObject({
      type: "EnforcedRollingUpdate",
      rollingUpdate: { partition: 2 },
    });

    expect(await patch({ spec: { updateStrategy: { type: "RollingUpdate" } } })).toBe(200);
    expect(await patch({ spec: enforced() })).toBe(422);
    expect((await api.call("POST", statefulSets, { body: statefulSet("new", enforced()) })).status).toBe(422);
  });
});

describe("StatefulSetRecreateStrategy", () => {
  const recreate = { updateStrategy: { type: "Recreate" } };
  const recreated = (name: string) => statefulSet(name, recreate);

  test("off by default: Recreate is rejected with the three supported values", async () => {
    const api = await restart({});
    const response = await api.call("POST", statefulSets, { body: recreated("new") });
    expect(response.status).toBe(422);
    expect(response.json<Status>().message).toBe(
      `StatefulSet.apps "new" is invalid: spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: must be 'RollingUpdate', 'OnDelete', or 'EnforcedRollingUpdate'`,
    );
  });

  test("gate on: accepted; a stored value is kept when the gate is turned off, and cannot be set again after a reset", async () => {
    const before = await restart({ StatefulSetRecreateStrategy: true });
    const stored = await before.json<StatefulSet>("POST", statefulSets, recreated("stored"));
    expect(stored.spec?.updateStrategy).toEqual({ type: "Recreate" });
    const api = await restart({ StatefulSetRecreateStrategy: false });
    const patch = async (spec: object) =>
      (await api.call("PATCH", `${statefulSets}/stored`, { body: { spec }, headers: mergePatch })).status;
    expect(await patch({ replicas: 2 })).toBe(200);
    expect(await patch(recreate)).toBe(200);
    expect(await patch({ updateStrategy: { type: "OnDelete" } })).toBe(200);
    expect(await patch(recreate)).toBe(422);
  });
});
