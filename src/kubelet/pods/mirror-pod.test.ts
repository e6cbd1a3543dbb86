import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { StatusError, type StatusReason } from "../../api/meta/status-error.ts";
import { isMirrorPod } from "../../api/pod/pod-state.ts";
import type { Client, DeleteOptions, ObjectKey } from "../../client/api/client.ts";
import { deletePod } from "./clean-up-pod.ts";
import { buildMirrorPod, isMirrorOf, keepMirrorPod } from "./pod-source.ts";

const { signal } = new AbortController();
const node = { metadata: { name: "node-1", uid: "node-uid" } };

function staticPod(hash: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-node-1",
      namespace: "shop",
      uid: hash,
      labels: { app: "web" },
      annotations: { note: "mine", "kubernetes.io/config.hash": hash, "kubernetes.io/config.source": "file" },
    },
    spec: { nodeName: "node-1", containers: [{ name: "c", image: "web:1" }] },
  };
}

function mirrorOf(hash: string, more: Partial<Pod["metadata"]> = {}): Pod {
  const mirror = buildMirrorPod(staticPod(hash), node);
  return { ...mirror, metadata: { ...mirror.metadata, uid: `mirror-${hash}`, ...more } };
}

function setUp(refusals: { create?: unknown; delete?: unknown } = {}) {
  const calls: unknown[] = [];
  const client = {
    async create(_resource: string, pod: Pod) {
      calls.push(["create", pod.metadata.annotations?.["kubernetes.io/config.mirror"]]);
      if (refusals.create) throw refusals.create;
      return pod;
    },
    async delete(_resource: string, { namespace, name }: ObjectKey, options: DeleteOptions) {
      calls.push(["delete", `${namespace}/${name}`, options.preconditions?.uid, options.gracePeriodSeconds]);
      if (refusals.delete) throw refusals.delete;
    },
  } as unknown as Client;
  return { calls, deps: { client, node: async () => node } };
}

test("a mirror pod is a copy with annotations, owned by the node, with its own UID", () => {
  const mirror = buildMirrorPod(staticPod("h1"), node);
  expect(mirror.metadata).toEqual({
    name: "web-node-1",
    namespace: "shop",
    labels: { app: "web" },
    annotations: {
      note: "mine",
      "kubernetes.io/config.hash": "h1",
      "kubernetes.io/config.source": "file",
      "kubernetes.io/config.mirror": "h1",
    },
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "node-1", uid: "node-uid", controller: true }],
  });
  expect(mirror.spec).toEqual(staticPod("h1").spec);
  expect([isMirrorPod(mirror), isMirrorPod(staticPod("h1"))]).toEqual([true, false]);
  expect([isMirrorOf(mirror, staticPod("h1")), isMirrorOf(mirror, staticPod("h2"))]).toEqual([true, false]);
});

const create = ["create", "h1"];
test.each([
  { why: "there is none", mirror: undefined, done: [create] },
  { why: "it is current", mirror: mirrorOf("h1"), done: [] },
  {
    why: "it shows an older manifest",
    mirror: mirrorOf("h0"),
    done: [["delete", "shop/web-node-1", "mirror-h0", 0], create],
  },
  {
    why: "it is being deleted",
    mirror: mirrorOf("h1", { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    done: [["delete", "shop/web-node-1", "mirror-h1", 0], create],
  },
])("mirror pod: $why", async ({ mirror, done }) => {
  const { calls, deps } = setUp();
  await keepMirrorPod(deps, { staticPod: staticPod("h1"), mirror, signal });
  expect(calls).toEqual(done);
});

const refusal = (code: number, reason: StatusReason) => new StatusError(code, reason, reason);

test("ignores AlreadyExists and throws other errors", async () => {
  const options = { staticPod: staticPod("h1"), mirror: undefined, signal };
  await keepMirrorPod(setUp({ create: refusal(409, "AlreadyExists") }).deps, options);
  await expect(keepMirrorPod(setUp({ create: refusal(403, "Forbidden") }).deps, options)).rejects.toThrow();
});

test.each<[number, StatusReason, boolean]>([
  [404, "NotFound", true],
  [409, "Conflict", true],
  [500, "InternalError", false],
])("a delete that is answered with %i %s", async (code, reason, isGone) => {
  const { deps } = setUp({ delete: refusal(code, reason) });
  const deleting = deletePod(deps.client, mirrorOf("h1"), signal);
  await (isGone ? deleting : expect(deleting).rejects.toThrow());
});
