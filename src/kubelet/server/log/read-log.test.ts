import { appendFileSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { createManualClock } from "../../../lib/manual-clock.ts";
import type { LogOptions } from "./log-options.ts";
import { readLog } from "./read-log.ts";

const folder = temporaryFolder();
const line = (text: string) => `2026-01-01T00:00:00Z stdout F ${text}\n`;
const plain: LogOptions = {
  follow: false,
  previous: false,
  timestamps: false,
  sinceMs: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stream: "All",
};

/** A log of these lines whose reader is told of changes by the test; `meanwhile` is written before it reads. */
async function follow(
  lines: readonly string[],
  { meanwhile = "", ...options }: Partial<LogOptions> & { meanwhile?: string } = {},
) {
  const path = join(mkdtempSync(join(folder, "log-")), "0.log");
  writeFileSync(path, lines.map(line).join(""));
  const clock = createManualClock();
  const abort = new AbortController();
  const state = { running: true, watches: 0, opened: 0 };
  const output = await readLog({
    file: await open(path),
    source: {
      open: () => open(path),
      isRunning: async () => state.running,
      watch() {
        state.watches++;
        return {
          next: ({ atMostMs, signal }) => clock.sleep(atMostMs, signal),
          close: () => state.watches--,
        };
      },
    },
    options: { ...plain, ...options },
    clock,
    signal: abort.signal,
  });
  appendFileSync(path, meanwhile);
  const seen = { text: "", done: false, error: undefined as unknown };
  const reading = (async () => {
    for await (const chunk of output) seen.text += chunk.toString();
  })().then(
    () => {
      seen.done = true;
    },
    (error) => {
      seen.error = error;
    },
  );
  /** Until the reader waits for a change, or has ended. */
  const settled = () => expect.poll(() => clock.sleeping() > 0 || seen.done).toBe(true);
  return { path, clock, state, seen, reading, abort, settled };
}

test("a log is read to its end", async () => {
  const { reading, seen } = await follow(["a", "b", "c"]);
  await reading;
  expect(seen).toMatchObject({ text: "a\nb\nc\n", done: true });
});

test.each([
  [2, "b\nc\n"],
  [0, ""],
])("the last %i lines", async (tailLines, text) => {
  const { reading, seen } = await follow(["a", "b", "c"], { tailLines });
  await reading;
  expect(seen.text).toBe(text);
});

test("what is written before anybody reads is followed too, where none of the lines before are asked for", async () => {
  const options = { follow: true, tailLines: 0, meanwhile: line("b") };
  const { seen, settled, abort, reading } = await follow(["a"], options);
  await settled();
  expect(seen.text).toBe("b\n");
  abort.abort();
  await reading;
});

test("following goes on across a rotation, with what was written last to the old file", async () => {
  const { path, clock, seen, settled, state, reading } = await follow(["a", "b"], {
    follow: true,
    tailLines: 1,
  });
  await settled();
  expect(seen.text).toBe("b\n");
  renameSync(path, `${path}.1`);
  appendFileSync(`${path}.1`, line("late"));
  await clock.advance(1_000);
  await settled();
  writeFileSync(path, line("new"));
  appendFileSync(`${path}.1`, line("later"));
  await clock.advance(1_000);
  await settled();
  expect(seen.text).toBe("b\nlate\nlater\nnew\n");
  state.running = false;
  appendFileSync(path, line("last"));
  await clock.advance(1_000);
  await reading;
  expect(seen).toMatchObject({ text: "b\nlate\nlater\nnew\nlast\n", done: true });
  expect(state.watches).toBe(0);
});

test("following an ended container's log ends", async () => {
  const followed = await follow(["a"], { follow: true });
  followed.state.running = false;
  await followed.clock.advance(1_000);
  await followed.reading;
  expect(followed.seen).toMatchObject({ text: "a\n", done: true });
});

test("a reader that goes away ends it, and nothing stays open", async () => {
  const { abort, reading, seen, settled, state } = await follow(["a"], { follow: true });
  await settled();
  abort.abort(new Error("gone"));
  await reading;
  expect(seen.error).toMatchObject({ message: "gone" });
  expect(state.watches).toBe(0);
});

test("as many bytes as asked for, even when following", async () => {
  const { reading, seen } = await follow(["abc", "def"], { follow: true, limitBytes: 5 });
  await reading;
  expect(seen).toMatchObject({ text: "abc\nd", done: true });
});
