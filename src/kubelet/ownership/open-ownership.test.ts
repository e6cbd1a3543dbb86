import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client } from "../../client/api/client.ts";
import { ListPodSandboxResponse } from "../../cri/generated/cri.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import type { ListedSandbox } from "./decide-claim.ts";
import { openOwnership } from "./open-ownership.ts";

let dataDir: string;
let stop: AbortController;
let clock: ManualClock;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-ownership-"));
  stop = new AbortController();
  clock = createManualClock();
});
afterEach(async () => {
  stop.abort();
  await rm(dataDir, { recursive: true, force: true });
});

/** UID of kube-system, the status of a rejected request, or an unavailable server. */
type ClusterAnswer = { readonly uid: string } | { readonly status: number } | "away";

function open(sandboxes: readonly ListedSandbox[], answer: ClusterAnswer, more: { adopt?: boolean } = {}) {
  const get = async () => {
    if (answer === "away") throw new Error("ECONNREFUSED");
    if ("status" in answer) throw new StatusError(answer.status, "Forbidden", "no");
    return { metadata: { uid: answer.uid } };
  };
  return openOwnership(
    {
      client: { get } as unknown as Pick<Client, "get">,
      cri: {
        runtime: {
          listPodSandbox: async () => ListPodSandboxResponse.fromPartial({ items: [...sandboxes] }),
        },
      },
      nodeName: "n1",
      dataDir,
      adopt: more.adopt ?? false,
      clock,
      logger: silentLogger,
    },
    stop.signal,
  );
}

const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } };
const staticPod: Pod = {
  ...pod,
  metadata: { name: "web", annotations: { "kubernetes.io/config.source": "file" } },
};
const sandbox = (annotations: Record<string, string>, id = "s1"): ListedSandbox => ({
  id,
  metadata: { name: "web", namespace: "shop", uid: "u1", attempt: 0 },
  annotations,
});
const ofCluster = (uid: string, id?: string) =>
  sandbox({ "kindling.dev/node-name": "n1", "kindling.dev/cluster-uid": uid }, id);
const saved = async () => JSON.parse(await readFile(join(dataDir, "identity.json"), "utf8"));

test("sandboxes have the cluster and node, and a restarted kubelet recognizes them without the API server", async () => {
  const first = await open([], { uid: "c1" });
  const marking = first.mark(pod);
  await first.run(stop.signal);
  const annotations = await marking;
  expect(annotations).toEqual({ "kindling.dev/node-name": "n1", "kindling.dev/cluster-uid": "c1" });
  const next = await open([sandbox(annotations)], "away");
  expect(next.isOwn(sandbox(annotations))).toBe(true);
});

test("a static pod starts without the API server: its sandbox has the kubelet's id and stays owned", async () => {
  const first = await open([], "away");
  const annotations = await first.mark(staticPod);
  expect(annotations).toEqual({
    "kindling.dev/node-name": "n1",
    "kindling.dev/kubelet-id": (await saved()).kubeletId,
  });
  expect(first.isOwn(sandbox(annotations))).toBe(true);
  const next = await open([sandbox(annotations)], { uid: "c1" });
  await next.run(stop.signal);
  expect(next.isOwn(sandbox(annotations))).toBe(true);
  expect(await next.mark(staticPod)).toMatchObject({ "kindling.dev/cluster-uid": "c1" });
});

test.each([403, 404])(
  "an API server that answers %i for kube-system: the kubelet's id stands in",
  async (status) => {
    const ownership = await open([], { status });
    await ownership.run(stop.signal);
    expect(await ownership.mark(pod)).toHaveProperty(["kindling.dev/kubelet-id"]);
  },
);

test("rejects sandboxes of another kubelet without changing the data directory", async () => {
  await expect(open([sandbox({})], "away")).rejects.toThrow(/1 pod sandbox that this kubelet did not create/);
  await expect(saved()).rejects.toThrow("ENOENT");
});

test("adopts sandboxes of another kubelet once, also without the flag afterwards", async () => {
  const adopting = await open([sandbox({}), sandbox({}, "s2")], "away", { adopt: true });
  expect(adopting.isOwn(sandbox({}))).toBe(true);
  expect(adopting.isOwn(sandbox({}, "later"))).toBe(false);
  const next = await open([sandbox({})], "away");
  expect(next.isOwn(sandbox({}))).toBe(true);
  expect((await saved()).adoptedSandboxes).toEqual(["s1"]);
});

test("recognizes sandboxes of an earlier version by their log directories", async () => {
  await mkdir(join(dataDir, "logs/shop_web_u1"), { recursive: true });
  expect((await open([sandbox({})], "away")).isOwn(sandbox({}))).toBe(true);
});

test("a lost data directory: the API server confirms the sandboxes", async () => {
  const ownership = await open([ofCluster("c1")], { uid: "c1" });
  expect(ownership.isOwn(ofCluster("c1"))).toBe(true);
  await expect(open([ofCluster("c2")], { uid: "c1" })).rejects.toThrow(/of the cluster c2/);
});

test("a lost data directory and no API server: rejected after ten seconds, with the reason", async () => {
  const opening = open([ofCluster("c1")], "away");
  const rejected = expect(opening).rejects.toThrow(/the API server does not respond/);
  let done = false;
  void opening
    .catch(() => {})
    .finally(() => {
      done = true;
    });
  while (!done) await clock.advance(500);
  await rejected;
});

test("a re-created cluster: the kubelet does not start and stops none of the old sandboxes", async () => {
  await writeFile(join(dataDir, "identity.json"), JSON.stringify({ kubeletId: "k", clusterUid: "old" }));
  const ownership = await open([ofCluster("old")], { uid: "new" });
  const settled = expect(ownership.settled).rejects.toThrow();
  await expect(ownership.run(stop.signal)).rejects.toThrow(
    /of the cluster old \(this cluster's uid is new\)/,
  );
  await settled;
  expect((await saved()).clusterUid).toBe("old");
});

test.each([
  ["without sandboxes", [], false],
  ["with --adopt-sandboxes", [ofCluster("old")], true],
])("the cluster was re-created, %s: the kubelet goes on in the new one", async (_, sandboxes, adopt) => {
  await writeFile(join(dataDir, "identity.json"), JSON.stringify({ kubeletId: "k", clusterUid: "old" }));
  const ownership = await open(sandboxes, { uid: "new" }, { adopt });
  await ownership.run(stop.signal);
  await ownership.settled;
  expect(await ownership.mark(pod)).toMatchObject({ "kindling.dev/cluster-uid": "new" });
  expect(sandboxes.every(ownership.isOwn)).toBe(true);
});

test.each(["", "{", "[]", '{"kubeletId":""}'])("a spoilt record (%j) is as good as none", async (text) => {
  await writeFile(join(dataDir, "identity.json"), text);
  const ownership = await open([], { uid: "c1" });
  await ownership.run(stop.signal);
  expect(await saved()).toMatchObject({ clusterUid: "c1", adoptedSandboxes: [] });
});
