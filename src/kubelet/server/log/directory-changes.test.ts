import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createManualClock } from "../../../lib/manual-clock.ts";
import { watchDirectory } from "./directory-changes.ts";

const { signal } = new AbortController();

test("a change shows by the kernel's word: no time has to pass", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kindling-changes-"));
  const changes = watchDirectory(folder, createManualClock());
  try {
    for (const text of ["first", "second"]) {
      const next = changes.next({ atMostMs: 1_000, signal });
      appendFileSync(join(folder, "0.log"), text);
      await next;
    }
  } finally {
    changes.close();
    rmSync(folder, { recursive: true });
  }
});

test("where nothing can be watched, changes show by the time that passes", async () => {
  const clock = createManualClock();
  const changes = watchDirectory("/nowhere", clock);
  let told = false;
  const next = changes.next({ atMostMs: 1_000, signal }).then(() => {
    told = true;
  });
  await clock.advance(999);
  expect(told).toBe(false);
  await clock.advance(1);
  await next;
  changes.close();
});
