import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { followPull } from "./follow-pull.ts";
import type { ImageRecord } from "./image-records.ts";
import type { PullReport } from "./images.ts";

const total = 1_000;

/** Pull that the test controls, followed by a caller that wants a report for each byte. */
function follow() {
  const clock = createManualClock();
  const listeners = new Set<() => void>();
  const layer = { digest: "sha256:a", offset: 0, total, stage: "downloading" } as const;
  let offset = 0;
  let finish: (record: ImageRecord) => void = () => {};
  const result = new Promise<ImageRecord>((resolve) => {
    finish = resolve;
  });
  const reports: PullReport[] = [];
  const state = {
    layers: [layer],
    total,
    transfers: [],
    get offset() {
      return offset;
    },
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const request = {
    reference: "app:v1",
    granularity: { kind: "size", intervalBytes: 1 },
    signal: new AbortController().signal,
  } as const;
  const ended = (async () => {
    for await (const report of followPull({ clock, request, join: () => ({ state, result, joined: false }) }))
      reports.push(report);
  })();
  return {
    clock,
    offsets: () => reports.map((report) => report.offset),
    async receive(bytes: number) {
      for (let i = 0; i < bytes; i++) {
        offset++;
        for (const listener of listeners) listener();
      }
      await clock.advance(0);
    },
    async finish(record: ImageRecord) {
      finish(record);
      await ended;
      return reports.at(-1);
    },
  };
}

const record = { id: "sha256:x" } as ImageRecord;

test("3542-2 limits the rate of reports, however small the interval", async () => {
  const pull = follow();
  await pull.receive(500);
  expect(pull.offsets()).toEqual(Array.from({ length: 32 }, (_, i) => i + 1));
  for (let second = 0; second < 2; second++) {
    for (let ms = 0; ms < 1_000; ms += 5) {
      await pull.clock.advance(5);
      await pull.receive(1);
    }
  }
  expect(pull.offsets().length).toBe(32 + 80);
});

test("3542-2 sends a postponed report even if no further byte arrives, and a complete last report", async () => {
  const pull = follow();
  await pull.receive(100);
  expect(pull.offsets().at(-1)).toBe(32);
  await pull.clock.advance(1_000);
  expect(pull.offsets().slice(32)).toEqual([100]);
  await pull.receive(900);
  expect(await pull.finish(record)).toMatchObject({ kind: "done", offset: total, total });
});
