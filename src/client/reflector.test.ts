import { describe, expect, test } from "vitest";
import { expired, StatusError, timeout } from "../api/status-error.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock } from "../lib/manual-clock.ts";
import type { ObjectList, WatchEvent } from "./client.ts";
import { afterFailure, listOptions, type Position, reflect } from "./reflector.ts";
import { TransportError } from "./transport.ts";

interface Thing {
  metadata: { name: string; resourceVersion: string };
}

const thing = (name: string, resourceVersion: string): Thing => ({ metadata: { name, resourceVersion } });
const gone = new TransportError("gone");

/** One step for each call: what a list answers, or what a watch delivers and how it ends. */
type Step =
  | { list: ObjectList<Thing> | Error }
  | { watch: WatchEvent<Thing>[]; ending: "end" | "hang" | Error };

function play(steps: Step[]) {
  const clock = createManualClock();
  const stop = new AbortController();
  const log: string[] = [];
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

  test("goes on from its last event or bookmark when a watch ends or breaks", async () => {
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

  test("looks quickly for a server that went, then ever more slowly, and quickly again after it was back", async () => {
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

  test("lists again at once when its revision is forgotten, not older than what it has seen", async () => {
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

  test("takes whatever the server has when that cannot be had either", async () => {
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

  test("does not spin when every watch is forgotten, or ends at once", async () => {
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

  test("ends a watch in which nothing is heard, not even a bookmark", async () => {
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

  test("stops wherever it is", async () => {
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

  test("a lost reflector asks for everything in one piece", () => {
    expect(listOptions({ kind: "lost" })).toEqual({});
  });
});
