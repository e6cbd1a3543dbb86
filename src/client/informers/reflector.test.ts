import { describe, expect, test } from "vitest";
import { expired, StatusError, timeout } from "../../api/meta/status-error.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { ObjectList, WatchEvent } from "../api/client.ts";
import { TransportError } from "../transport/transport.ts";
import { afterFailure, listOptions, type Position, reconnectDelayMs, reflect } from "./reflector.ts";

interface Thing {
  metadata: { name: string; resourceVersion: string };
}

const thing = (name: string, resourceVersion: string): Thing => ({ metadata: { name, resourceVersion } });
const gone = new TransportError("gone");

/** One step per call: the result of a list, or the events and the end of a watch. */
type Step =
  | { list: ObjectList<Thing> | Error }
  | { watch: WatchEvent<Thing>[]; ending: "end" | "hang" | Error };

function play(steps: Step[]) {
  const clock = createManualClock();
  const stop = new AbortController();
  const log: string[] = [];
  const connections: string[] = [];
  const next = (call: string) => {
    log.push(`${clock.now()} ${call}`);
    return steps.shift();
  };
  const format = (options: object) => {
    const { signal: _, timeoutSeconds: __, ...shown } = { signal: 0, timeoutSeconds: 0, ...options };
    return JSON.stringify(shown).replaceAll('"', "");
  };
  const running = reflect<Thing>(
    {
      async list(options) {
        const step = next(`list ${format(options)}`);
        if (!step || !("list" in step)) throw new Error(`unexpected list after ${log.join(", ")}`);
        if (step.list instanceof Error) throw step.list;
        return step.list;
      },
      async *watch(options) {
        const step = next(`watch ${options.resourceVersion}`);
        if (!step || !("watch" in step)) throw new Error(`unexpected watch after ${log.join(", ")}`);
        if (!(step.ending instanceof Error) || step.watch.length > 0) options.onOpen?.();
        yield* step.watch;
        if (step.ending instanceof Error) throw step.ending;
        if (step.ending === "end") return;
        await new Promise((_, reject) => {
          const { signal } = options;
          if (signal?.aborted) reject(signal.reason);
          signal?.addEventListener("abort", () => reject(signal.reason));
        });
      },
      cache: {
        put: ({ metadata }) => void log.push(`put ${metadata.name}`),
        remove: ({ metadata }) => void log.push(`remove ${metadata.name}`),
        beginList: () => ({
          add: ({ metadata }) => void log.push(`listed ${metadata.name}`),
          complete: () => void log.push("complete"),
        }),
      },
      onListed: () => void log.push("synced"),
      onConnection: (state) => void connections.push(state),
      clock,
      logger: silentLogger,
      resource: "things",
      random: () => 1,
    },
    stop.signal,
  );
  return {
    clock,
    log,
    connections,
    left: () => steps.length,
    async stop() {
      stop.abort();
      await running;
    },
  };
}

const empty: Step = { list: { items: [], resourceVersion: "1" } };
const hang: Step = { watch: [], ending: "hang" };

describe("a reflector", () => {
  test("lists in pages from the server's cache, then watches from there", async () => {
    const { log, clock, stop } = play([
      { list: { items: [thing("a", "1")], resourceVersion: "10", continue: "next" } },
      { list: { items: [thing("b", "2")], resourceVersion: "10" } },
      {
        watch: [
          { type: "ADDED", object: thing("c", "11") },
          { type: "DELETED", object: thing("a", "12") },
        ],
        ending: "hang",
      },
    ]);
    await clock.advance(0);
    expect(log).toEqual([
      "0 list {resourceVersion:0,limit:500}",
      "listed a",
      "0 list {limit:500,continue:next}",
      "listed b",
      "complete",
      "synced",
      "0 watch 10",
      "put c",
      "remove a",
    ]);
    await stop();
  });

  test("resumes from its last event or bookmark when a watch ends or fails", async () => {
    const { log, clock, stop } = play([
      empty,
      { watch: [{ type: "ADDED", object: thing("a", "5") }], ending: "end" },
      { watch: [{ type: "BOOKMARK", resourceVersion: "8" }], ending: gone },
      hang,
    ]);
    await clock.advance(200);
    expect(log.filter((line) => line.includes("watch"))).toEqual(["0 watch 1", "0 watch 5", "200 watch 8"]);
    await stop();
  });

  test("retries quickly at first, then more slowly, and quickly again after a success", async () => {
    const broken: Step = { watch: [], ending: gone };
    const { log, clock, stop } = play([
      empty,
      ...Array(9).fill(broken),
      { watch: [{ type: "BOOKMARK", resourceVersion: "2" }], ending: gone },
      broken,
      hang,
    ]);
    await clock.advance(60_000);
    const times = log.filter((line) => line.includes("watch")).map((line) => Number(line.split(" ")[0]));
    expect(times.map((time, i) => time - (times[i - 1] ?? 0))).toEqual([
      0, 200, 200, 200, 200, 200, 200, 1_600, 3_200, 6_400, 200, 200,
    ]);
    await stop();
  });

  test("lists again immediately when its revision expired, not older than that revision", async () => {
    const { log, clock, stop } = play([
      empty,
      { watch: [{ type: "ADDED", object: thing("a", "5") }], ending: expired("too old") },
      { list: { items: [], resourceVersion: "50" } },
      hang,
    ]);
    await clock.advance(0);
    expect(log.slice(-4)).toEqual([
      "0 list {resourceVersion:5,resourceVersionMatch:NotOlderThan,limit:500}",
      "complete",
      "synced",
      "0 watch 50",
    ]);
    await stop();
  });

  test("lists the current state when that revision is not available either", async () => {
    const { log, clock, stop } = play([
      empty,
      { watch: [], ending: expired("too old") },
      { list: { items: [thing("a", "1")], resourceVersion: "50", continue: "next" } },
      { list: expired("the pages are too old") },
      { list: { items: [thing("b", "2")], resourceVersion: "60" } },
      hang,
    ]);
    await clock.advance(1_000);
    expect(log.filter((line) => line.includes(" list ")).at(-1)).toBe("200 list {}");
    expect(log.filter((line) => line === "complete")).toHaveLength(2);
    expect(log.at(-1)).toBe("200 watch 60");
    await stop();
  });

  test("backs off when every watch expires or ends immediately", async () => {
    for (const ending of ["end", expired("always")] as const) {
      const watch: Step = { watch: [], ending };
      const round = ending === "end" ? [watch] : [watch, empty];
      const steps = [empty, ...Array.from({ length: 40 }, () => round).flat()];
      const { clock, left, stop } = play(steps);
      const before = left();
      await clock.advance(1_000);
      expect(before - left()).toBeLessThan(14);
      await stop();
    }
  });

  test("ends a watch without any event or bookmark", async () => {
    const { log, clock, stop } = play([
      empty,
      { watch: [{ type: "BOOKMARK", resourceVersion: "4" }], ending: "hang" },
      hang,
    ]);
    await clock.advance(179_999);
    expect(log.at(-1)).toBe("0 watch 1");
    await clock.advance(201);
    expect(log.at(-1)).toBe("180200 watch 4");
    await stop();
  });

  test("reports whether the server responds: Forbidden is a response, a failure is not", async () => {
    const refused: Step = { list: new StatusError(403, "Forbidden", "no") };
    const failing: Step = { list: new StatusError(503, "ServiceUnavailable", "later") };
    const { connections, clock, stop } = play([
      { list: gone },
      failing,
      refused,
      empty,
      { watch: [{ type: "BOOKMARK", resourceVersion: "2" }], ending: gone },
      { watch: [], ending: "hang" },
    ]);
    await clock.advance(2_000);
    expect(connections).toEqual(["lost", "lost", "connected", "connected", "connected", "lost", "connected"]);
    await stop();
  });

  test("stops in every state", async () => {
    const waiting = play([{ list: gone }]);
    await waiting.clock.advance(10);
    await waiting.stop();
    const watching = play([empty, hang]);
    await watching.clock.advance(10);
    await watching.stop();
    expect(watching.clock.sleeping() + waiting.clock.sleeping()).toBe(0);
  });
});

describe("afterFailure", () => {
  const tooLarge = timeout("Too large resource version", [{ reason: "ResourceVersionTooLarge" }]);
  const watching: Position = { kind: "watching", revision: "5" };
  const behind: Position = { kind: "behind", revision: "5" };
  test.each<[Position, Error, Position]>([
    [watching, gone, watching],
    [watching, expired("x"), behind],
    [watching, tooLarge, { kind: "lost" }],
    [watching, new StatusError(410, "Gone", "x"), behind],
    [behind, gone, behind],
    [behind, expired("x"), { kind: "lost" }],
    [behind, tooLarge, { kind: "lost" }],
    [{ kind: "first" }, expired("x"), { kind: "lost" }],
    [{ kind: "first" }, gone, { kind: "first" }],
    [{ kind: "lost" }, expired("x"), { kind: "lost" }],
    [watching, timeout("slow"), watching],
  ])("%j after %s: %j", (position, error, expected) => {
    expect(afterFailure(position, error)).toEqual(expected);
  });

  test("a lost reflector lists everything without pages", () => {
    expect(listOptions({ kind: "lost" })).toEqual({});
  });
});

test.each([
  [1, 100, 200],
  [6, 100, 200],
  [7, 800, 1_600],
  [8, 1_600, 3_200],
  [11, 12_800, 25_600],
  [12, 15_000, 30_000],
  [10_000, 15_000, 30_000],
])("after %i failures the delay is between %i and %i ms", (failures, least, most) => {
  expect(reconnectDelayMs(failures, { isReachable: true, random: () => 0 })).toBe(least);
  expect(reconnectDelayMs(failures, { isReachable: true, random: () => 1 })).toBe(most);
});

test.each([7, 20, 10_000])(
  "after %i failures the delay is below 2 s if the server is unreachable",
  (failures) => {
    expect(reconnectDelayMs(failures, { isReachable: false, random: () => 1 })).toBe(1_600);
  },
);

test("a long outage does not delay the retry after the first refusal of the returned server", async () => {
  const down = () => ({ list: new TransportError("refused", { unreachable: true }) });
  const starting = { list: new StatusError(503, "ServiceUnavailable", "starting") };
  const ready = { list: { items: [], resourceVersion: "1" } };
  const { clock, log, stop } = play([
    ...Array.from({ length: 30 }, down),
    starting,
    ready,
    { watch: [], ending: "hang" },
  ]);
  await clock.advance(60_000);
  const [refusedAt, listedAt] = log.slice(30, 32).map((line) => Number.parseInt(line, 10));
  expect(listedAt).toBe((refusedAt ?? 0) + 200);
  await stop();
});

test("retries at least five times within about a second", () => {
  let elapsedMs = 0;
  for (let failures = 1; failures <= 5; failures++)
    elapsedMs += reconnectDelayMs(failures, { isReachable: true, random: () => 1 });
  expect(elapsedMs).toBeLessThanOrEqual(1_000);
});
