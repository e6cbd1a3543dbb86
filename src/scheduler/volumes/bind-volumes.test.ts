import { describe, expect, test, vi } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim } from "../../api/meta/objects.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { createNodeInfo } from "../model/node-info.ts";
import { makeNode, makeObjects } from "../model/scheduling.fixture.ts";
import { awaitVolumes, createAssumedVolumes, writeVolumes } from "./bind-volumes.ts";
import { makeClaim, makeClass, makeVolume } from "./volumes.fixture.ts";

const claim = makeClaim("data");
const volume = makeVolume("disk");
const signal = new AbortController().signal;

/** An API whose objects the test changes. */
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

describe("a claim to be provisioned", () => {
  const plan = { bindings: [], provisions: [claim] };

  test("gets the selected-node annotation and is awaited", async () => {
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

  test("fails when the provisioner removes the annotation", async () => {
    const api = setUp(plan);
    const binding = expect(api.bind()).rejects.toThrow('provisioning failed for PVC "data"');
    await expect.poll(() => api.update).toHaveBeenCalledOnce();
    api.change([makeClaim("data", { metadata: { resourceVersion: "2" } })]);
    await binding;
  });

  test("fails when the claim is deleted", async () => {
    const api = setUp(plan);
    const binding = expect(api.bind()).rejects.toThrow('persistentvolumeclaim "data" not found');
    await expect.poll(() => api.update).toHaveBeenCalledOnce();
    api.change([]);
    await binding;
  });

  test("fails after ten minutes", async () => {
    const api = setUp(plan);
    const binding = expect(api.bind()).rejects.toThrow("binding volumes: context deadline exceeded");
    await expect.poll(() => api.clock.sleeping()).toBe(1);
    await api.clock.advance(600_000);
    await binding;
  });

  test("is not annotated twice", async () => {
    const asked = makeClaim("data", { metadata: { annotations: onNodeA } });
    const api = setUp({ bindings: [], provisions: [asked] });
    api.change([bound({ resourceVersion: "2", annotations: onNodeA })]);
    await api.bind();
    expect(api.update).not.toHaveBeenCalled();
  });
});

test("an existing volume is reserved for the claim, and the binding is awaited", async () => {
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

test("assumed bindings are visible to the next pod until released", () => {
  const objects = makeObjects({ claims: [claim], volumes: [volume], classes: [makeClass("late")] });
  const assumed = createAssumedVolumes(objects);
  const release = assumed.assume({ bindings: [{ claim, volume }], provisions: [claim] }, "a");
  expect(assumed.objects.volumesOfClass("late")).toMatchObject([{ spec: { claimRef: { name: "data" } } }]);
  expect(assumed.objects.claim("default/data")?.metadata.annotations).toEqual(onNodeA);
  release();
  expect(assumed.objects.volume("disk")).toBe(volume);
  expect(assumed.objects.claim("default/data")).toBe(claim);
});
