import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/api/meta/objects.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { type OpenWatch, openWatch } from "../support/servers/open-watch.ts";
import { type ServerProcess, startServerProcess } from "../support/servers/server-process.ts";

const path = "/api/v1/namespaces/default/secrets";
const kills = 1 + rounds(1);
const writers = 16;

let dataDir: string;
let server: ServerProcess | undefined;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-crash-"));
});
afterEach(async () => {
  server?.disconnect();
  server?.kill("SIGKILL");
  await server?.exit;
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

async function start(...flags: string[]): Promise<ServerProcess> {
  server = await startServerProcess([
    "--data-dir",
    dataDir,
    "--listen",
    "127.0.0.1:0",
    "--store",
    "lmdb",
    ...flags,
  ]);
  return server;
}

/** Responses of the server about one object. A write without a response may or may not have been applied. */
interface Belief {
  /** Result of `versionOf`; undefined if the object does not exist. */
  acknowledged: string | undefined;
  unanswered: boolean;
}

type Secret = KubeObject & { data?: { round?: string } };
interface List {
  metadata: { resourceVersion: string };
  items: Secret[];
}

const versionOf = ({ metadata, data }: Secret) => `${metadata.resourceVersion} ${data?.round ?? ""}`;

describe("kill -9 under load", () => {
  test("every acknowledged write survives each restart, and a watch continues without a gap", async () => {
    const beliefs = new Map<string, Belief>();
    const replica = new Map<string, string>();
    let newest = 0;
    let watchedUpTo = 0;

    for (let round = 0; round < kills; round++) {
      const running = await start();
      const list = await running.json<List>("GET", path);
      expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(newest);
      checkBeliefs(beliefs, list);

      watchedUpTo ||= Number(list.metadata.resourceVersion);
      const watch = await openWatch(running, `${path}?watch=true&resourceVersion=${watchedUpTo}`);
      await expect.poll(() => replay(replica, watch)).toEqual(contentsOf(list));

      const progress = { answers: 0 };
      const load = Array.from({ length: writers }, (_, i) =>
        write(running, { beliefs, progress, prefix: `${round}-${i}` }),
      );
      const enough = 100 + Math.random() * 200;
      await expect.poll(() => progress.answers, { interval: 1 }).toBeGreaterThan(enough);
      running.kill("SIGKILL");
      await Promise.all([...load, running.exit, watch.ended]);
      running.disconnect();

      replay(replica, watch);
      watchedUpTo = Math.max(
        watchedUpTo,
        ...watch.events.map(({ object }) => Number(object.metadata.resourceVersion)),
      );
      newest = Math.max(
        newest,
        watchedUpTo,
        ...[...beliefs.values()].map(({ acknowledged = "0" }) => Number.parseInt(acknowledged, 10)),
      );
    }
  }, 300_000);
});

/** Creates, changes and deletes its own objects until the server stops. */
async function write(
  client: ServerProcess,
  options: { beliefs: Map<string, Belief>; progress: { answers: number }; prefix: string },
): Promise<void> {
  const { beliefs, progress, prefix } = options;
  try {
    for (let i = 0; ; i++) {
      const name = `${prefix}-${i}`;
      const belief: Belief = { acknowledged: undefined, unanswered: false };
      beliefs.set(name, belief);
      const attempt = async (method: string, url: string, body?: object): Promise<Secret> => {
        belief.unanswered = true;
        const answer = await client.json<Secret>(method, url, body);
        belief.unanswered = false;
        progress.answers++;
        return answer;
      };
      belief.acknowledged = versionOf(await attempt("POST", path, { metadata: { name } }));
      const updated = { metadata: { name }, data: { round: btoa(prefix) } };
      belief.acknowledged = versionOf(await attempt("PUT", `${path}/${name}`, updated));
      if (i % 3 === 0) {
        await attempt("DELETE", `${path}/${name}`);
        belief.acknowledged = undefined;
      }
    }
  } catch {
    // The server was killed.
  }
}

function checkBeliefs(beliefs: Map<string, Belief>, list: List): void {
  const found = contentsOf(list);
  for (const [name, belief] of beliefs) {
    if (!belief.unanswered) expect(found[name], name).toBe(belief.acknowledged);
    // Whatever became of it, from now on it must stay so.
    beliefs.set(name, { acknowledged: found[name], unanswered: false });
  }
  expect(Object.keys(found).filter((name) => !beliefs.has(name))).toEqual([]);
}

function contentsOf({ items }: List): Record<string, string> {
  return Object.fromEntries(items.map((item) => [item.metadata.name ?? "", versionOf(item)]));
}

/** Brings what a client has built from a watch up to its last event. */
function replay(replica: Map<string, string>, { events }: OpenWatch): Record<string, string> {
  for (const { type, object } of events) {
    if (type === "ERROR") throw new Error(`the watch was refused: ${object.message}`);
    const { name = "" } = object.metadata;
    if (type === "DELETED") replica.delete(name);
    else replica.set(name, versionOf(object));
  }
  return Object.fromEntries(replica);
}

describe("the command", () => {
  async function runToEnd(args: readonly string[]) {
    const { exit, output } = await runKindling(args);
    return { code: await exit, ...output };
  }

  test("rejects a data directory in use and names the other process", async () => {
    await start();
    const { code, stderr } = await runToEnd(["apiserver", "--data-dir", dataDir, "--listen", "127.0.0.1:0"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^kindling: .*(in use|used|opened) by .*process/m);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test("rejects a port in use and explains what to do", async () => {
    const { url } = await start();
    const listen = new URL(url).host;
    const args = ["apiserver", "--data-dir", join(dataDir, "other"), "--store", "memory", "--listen", listen];
    const { code, stderr } = await runToEnd(args);
    expect(code).toBe(1);
    // Only some users can see which process it is.
    expect(stderr).toMatch(
      new RegExp(
        `^kindling: port ${listen.split(":")[1]} of 127\\.0\\.0\\.1 is in use by .*: stop it, or choose another port with --listen 127\\.0\\.0\\.1:PORT\n$`,
      ),
    );
  });

  test("exits at SIGTERM at once, with watches and idle connections open", async () => {
    const running = await start();
    const watches = await Promise.all(
      Array.from({ length: 20 }, () => openWatch(running, `${path}?watch=true`)),
    );
    await running.json("POST", path, { metadata: { name: "last" } });
    const asked = performance.now();
    running.kill("SIGTERM");
    const code = await running.exit;
    // A watch that is waited for lasts half an hour at least; a busy machine takes seconds.
    expect(performance.now() - asked).toBeLessThan(20_000);
    expect(code, running.output.stderr).toBe(0);
    await Promise.all(watches.map((watch) => watch.ended));
  });

  test.each([
    ["an unknown store", ["--store", "floppy"]],
    ["an address that is none", ["--listen", "nowhere"]],
    ["an unknown gate", ["--feature-gates", "Nope=true"]],
  ])("%s is wrong usage", async (_, flags) => {
    const { code, stderr } = await runToEnd(["apiserver", "--data-dir", join(dataDir, "usage"), ...flags]);
    expect(code).toBe(2);
    expect(stderr).not.toMatch(/^ +at /m);
  });
});
