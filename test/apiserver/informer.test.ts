import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CoreV1Api,
  type Informer,
  KubeConfig,
  makeInformer,
  type ObjectCache,
  type V1ConfigMap,
} from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { ownPort } from "../support/network/own-share.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

const path = "/api/v1/namespaces/default/configmaps";
/** Objects of every new namespace. */
const own = "kube-root-ca.crt";

/** Informers of the official JavaScript client, with a server that restarts on one port and data directory. */
describe("informers of @kubernetes/client-node", () => {
  let dataDir: string;
  let server: TestServer;
  let port: number;
  let followers: Follower[] = [];

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "kindling-informer-"));
    // A port that stays free while the server is stopped.
    port = await ownPort();
    server = await startTestServer({ dataDir, store: { kind: "lmdb" }, port });
  });
  afterEach(async () => {
    for (const follower of followers) await follower.stop();
    followers = [];
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const restart = async (options: { port?: number } = {}) => {
    server = await startTestServer({ dataDir, store: { kind: "lmdb" }, port, ...options });
  };

  async function follow(labelSelector?: string): Promise<Follower> {
    const follower = await startFollower(server.kubeconfig, labelSelector);
    followers.push(follower);
    return follower;
  }

  test("report objects that are added, changed and deleted", async () => {
    await create("before");
    const { events, state } = await follow();
    await create("after");
    await update("after", { a: "1" });
    await remove("after");
    await expect
      .poll(() => events.filter((event) => !event.endsWith(own)))
      .toEqual(["add before", "add after", "update after", "delete after"]);
    expect(state()).toEqual({ [own]: expect.anything(), before: {} });
  });

  test("see objects added and deleted as their labels change", async () => {
    const { events } = await follow("on=yes");
    await create("switched");
    await label("switched", { on: "yes" });
    await label("switched", { on: "no" });
    await expect.poll(() => events).toEqual(["add switched", "delete switched"]);
  });

  test("continue from their version after a restart of the server", async () => {
    await create("stays");
    await create("goes");
    const { events, lists, state } = await follow();
    await expect.poll(() => events).toContain("add stays");
    await server.close();

    // What happens while the informer cannot see it, through a server on another port.
    await restart({ port: 0 });
    await remove("goes");
    await create("new");
    await update("stays", { a: "2" });
    await server.close();

    await restart();
    await expect.poll(state).toEqual({ [own]: expect.anything(), stays: { a: "2" }, new: {} });
    expect(events.slice(-3)).toEqual(["delete goes", "add new", "update stays"]);
    expect(lists()).toBe(1);
    await create("later");
    await expect.poll(() => events).toContain("add later");
  });

  test("list again when their version was compacted", async () => {
    await create("goes");
    const { events, lists, state } = await follow();
    await expect.poll(() => events).toContain("add goes");
    await server.close();

    await restart({ port: 0 });
    await remove("goes");
    await create("new");
    await server.close();
    const store = await openLmdbStore({ directory: join(dataDir, "store") });
    await store.compact(await store.currentRevision());
    await store.close();

    await restart();
    await expect.poll(state).toEqual({ [own]: expect.anything(), new: {} });
    expect(lists()).toBe(2);
    expect(events).toEqual(expect.arrayContaining(["delete goes", "add new"]));
  });

  const create = (name: string) => server.json("POST", path, { metadata: { name } });
  const update = (name: string, data: object) =>
    server.json("PUT", `${path}/${name}`, { metadata: { name }, data });
  const label = (name: string, labels: object) =>
    server.json("PUT", `${path}/${name}`, { metadata: { name, labels } });
  const remove = (name: string) => server.json("DELETE", `${path}/${name}`);
});

interface Follower {
  /** `add NAME`, `update NAME`, `delete NAME` */
  readonly events: readonly string[];
  /** Number of complete lists. */
  lists(): number;
  /** The data of each object it holds. */
  state(): Record<string, object>;
  stop(): Promise<void>;
}

async function startFollower(kubeconfig: string, labelSelector?: string): Promise<Follower> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  const events: string[] = [];
  let lists = 0;
  const list = () => {
    lists++;
    return api.listNamespacedConfigMap({ namespace: "default", ...(labelSelector && { labelSelector }) });
  };
  const informer: Informer<V1ConfigMap> & ObjectCache<V1ConfigMap> = makeInformer(
    config,
    path,
    list,
    labelSelector,
  );
  for (const verb of ["add", "update", "delete"] as const)
    informer.on(verb, (object) => void events.push(`${verb} ${object.metadata?.name}`));

  let retry: NodeJS.Timeout | undefined;
  // As documented by the client: it stops at an error, and the caller restarts it.
  informer.on("error", () => {
    retry = setTimeout(() => void informer.start(), 20);
  });
  await informer.start();
  return {
    events,
    lists: () => lists,
    state: () =>
      Object.fromEntries(informer.list().map(({ metadata, data }) => [metadata?.name, data ?? {}])),
    async stop() {
      await informer.stop();
      clearTimeout(retry);
    },
  };
}
