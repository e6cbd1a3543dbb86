import { describe, expect, test } from "vitest";
import { createManualClock } from "../lib/manual-clock.ts";
import { decideCompaction, type RevisionSample, runCompaction } from "./compaction.ts";
import { createMemoryStore } from "./local/memory-store.ts";
import type { Store } from "./store.ts";

const policy = { everyMs: 10, keepMs: 100, keepRevisions: 50 };

describe("decideCompaction", () => {
  const cases: { name: string; samples: [number, number][]; compactTo?: number; kept: number[] }[] = [
    { name: "no samples", samples: [], kept: [] },
    {
      name: "no sample is old enough",
      samples: [
        [0, 1],
        [99, 20],
      ],
      kept: [1, 20],
    },
    {
      name: "a sample of exactly the minimum age",
      samples: [
        [0, 5],
        [50, 10],
        [100, 20],
      ],
      compactTo: 5,
      kept: [10, 20],
    },
    {
      name: "the newest of several old samples",
      samples: [
        [0, 5],
        [10, 7],
        [200, 9],
      ],
      compactTo: 7,
      kept: [9],
    },
    {
      name: "too many recent revisions",
      samples: [
        [0, 10],
        [10, 80],
      ],
      compactTo: 30,
      kept: [80],
    },
    {
      name: "the age limit exceeds the count limit",
      samples: [
        [0, 60],
        [100, 80],
      ],
      compactTo: 60,
      kept: [80],
    },
    {
      name: "exactly the maximum number of revisions",
      samples: [
        [0, 1],
        [10, 50],
      ],
      kept: [1, 50],
    },
    {
      name: "an idle store",
      samples: [
        [0, 9],
        [60, 9],
        [100, 9],
      ],
      compactTo: 9,
      kept: [],
    },
  ];
  test.each(cases)("$name", ({ samples, compactTo, kept }) => {
    const taken = samples.map(([at, revision]): RevisionSample => ({ at, revision }));
    const decision = decideCompaction(policy, taken);
    expect(decision.compactTo).toBe(compactTo);
    expect(decision.samples.map((sample) => sample.revision)).toEqual(kept);
  });
});

describe("runCompaction", () => {
  test("compacts history older than the policy, and continues after a failure", async () => {
    const clock = createManualClock();
    const abort = new AbortController();
    const memory = createMemoryStore();
    const compactedTo: number[] = [];
    const failures: unknown[] = [];
    const store: Store = {
      ...memory,
      async compact(revision) {
        if (failures.length === 0) throw new Error("not now");
        compactedTo.push(revision);
        await memory.compact(revision);
      },
    };
    const running = runCompaction(store, {
      policy,
      clock,
      signal: abort.signal,
      onFailure: (error) => failures.push(error),
    });
    for (let i = 0; i < 14; i++) {
      await store.create(`/${i}`, Buffer.from("x"));
      await clock.advance(10);
    }
    // One write every 10 ms. At 100 revision 1 is old enough, which fails; at 110 revision 2, and so on.
    expect(failures).toHaveLength(1);
    expect(compactedTo).toEqual([2, 3, 4, 5]);
    await expect(store.get("/0", { atRevision: 4 })).rejects.toMatchObject({ code: "compacted" });
    expect((await store.get("/0", { atRevision: 5 }))?.revision).toBe(2);

    abort.abort();
    await running;
    expect(clock.sleeping()).toBe(0);
  });
});
