import { describe, expect, test, vi } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { createNodeInfo } from "../node-info.ts";
import { makeNode, makeObjects } from "../scheduling.fixture.ts";
import { createAssumedVolumes } from "./assumed-volumes.ts";
import { awaitVolumes, writeVolumes } from "./bind-volumes.ts";
import { makeClaim, makeClass, makeVolume } from "./volumes.fixture.ts";

const claim = makeClaim("data");
const volume = makeVolume("disk");
const signal = new AbortController().signal;

/** An API whose objects a test changes. */
function setUp(plan: {
  bindings: { claim: PersistentVolumeClaim; volume: PersistentVolume }[];
  provisions: PersistentVolumeClaim[];
}) {
  let claims: readonly PersistentVolumeClaim[] = [claim];
  let volumes: readonly PersistentVolume[] = [volume];
  const clock = createManualClock();
  const changes = createWakeUp();
  const update = vi.fn(async (_resource: string, object: object) => object);
  const deps = {
    client: { update: update as never },
    objects: makeObjects({
      objects: {
        claim: () => claims[0],
        volume: () => volumes[0],
      },
    }),
    node: (name: string) => (name === "a" ? createNodeInfo(makeNode("a"), []) : undefined),
    changes,
    clock,
  };
  return {
    clock,
    update,
    change(nextClaims: readonly PersistentVolumeClaim[], nextVolumes: readonly PersistentVolume[] = volumes) {
      claims = nextClaims;
      volumes = nextVolumes;
      changes.wake();
    },
    async bind(nodeName = "a") {
      const replaced = await writeVolumes(deps, plan, { nodeName, signal });
      await awaitVolumes(deps, plan, { nodeName, replaced, signal });
    },
  };
}

const onNodeA = { "volume.kubernetes.io/selected-node": "a" };
const bound = (parts: { resourceVersion: string; annotations?: Record<string, string> }) =>
  makeClaim("data", {
    volumeName: "disk",
    metadata: {
      resourceVersion: parts.resourceVersion,
      annotations: { "pv.kubernetes.io/bind-completed": "yes", ...parts.annotations },
    },
  });

describe("a volume that is to be made", () => {
  const plan = { bindings: [], provisions: [claim] };

  test("is asked for on the node, and waited for", async () => {
    const api = setUp(plan);
    const binding = api.bind();
    await expect.poll(() => api.update).toHaveBeenCalledOnce();
    expect(api.update.mock.calls[0]?.[1]).toMatchObject({
      metadata: { resourceVersion: "1", annotations: onNodeA },
    });
    api.change([makeClaim("data", { metadata: { resourceVersion: "2", annotations: onNodeA } })]);
    api.change([bound({ resourceVersion: "3", annotations: onNodeA })]);
    await binding;
  });

  test("is given up when whoever makes it asks for another node", async () => {
    const api = setUp(plan);
    const binding = expect(api.bind()).rejects.toThrow('provisioning failed for PVC "data"');
    await expect.poll(() => api.update).toHaveBeenCalledOnce();
    api.change([makeClaim("data", { metadata: { resourceVersion: "2" } })]);
    await binding;
  });

  test("is given up when the claim goes", async () => {
    const api = setUp(plan);
    const binding = expect(api.bind()).rejects.toThrow('persistentvolumeclaim "data" not found');
    await expect.poll(() => api.update).toHaveBeenCalledOnce();
    api.change([]);
    await binding;
  });

  test("is given up after ten minutes", async () => {
    const api = setUp(plan);
    const binding = expect(api.bind()).rejects.toThrow("binding volumes: context deadline exceeded");
    await expect.poll(() => api.clock.sleeping()).toBe(1);
    await api.clock.advance(600_000);
    await binding;
  });

  test("is not asked for twice", async () => {
    const asked = makeClaim("data", { metadata: { annotations: onNodeA } });
    const api = setUp({ bindings: [], provisions: [asked] });
    api.change([bound({ resourceVersion: "2", annotations: onNodeA })]);
    await api.bind();
    expect(api.update).not.toHaveBeenCalled();
  });
});

test("a volume that is there is held for the claim, and the claim waited for", async () => {
  const api = setUp({ bindings: [{ claim, volume }], provisions: [] });
  const binding = api.bind();
  await expect.poll(() => api.update).toHaveBeenCalledOnce();
  const held = api.update.mock.calls[0]?.[1];
  expect(held).toMatchObject({
    metadata: { name: "disk", annotations: { "pv.kubernetes.io/bound-by-controller": "yes" } },
    spec: {
      claimRef: { kind: "PersistentVolumeClaim", namespace: "default", name: "data", uid: "uid-data" },
    },
  });
  const now = makeVolume("disk", { claimRef: { uid: "uid-data" }, metadata: { resourceVersion: "2" } });
  api.change([claim], [now]);
  api.change([bound({ resourceVersion: "2" })], [now]);
  await binding;
});

test("what is planned for one pod is seen by the next, until it is done", () => {
  const objects = makeObjects({ claims: [claim], volumes: [volume], classes: [makeClass("late")] });
  const assumed = createAssumedVolumes(objects);
  const release = assumed.assume({ bindings: [{ claim, volume }], provisions: [claim] }, "a");
  expect(assumed.objects.volumesOfClass("late")).toMatchObject([{ spec: { claimRef: { name: "data" } } }]);
  expect(assumed.objects.claim("default/data")?.metadata.annotations).toEqual(onNodeA);
  release();
  expect(assumed.objects.volume("disk")).toBe(volume);
  expect(assumed.objects.claim("default/data")).toBe(claim);
});
