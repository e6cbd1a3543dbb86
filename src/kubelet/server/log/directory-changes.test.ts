import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createManualClock } from "../../../lib/manual-clock.ts";
import { watchDirectory } from "./directory-changes.ts";

const { signal } = new AbortController();

test("resolves on a change before the timeout", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kindling-changes-"));
  const changes = watchDirectory(folder, createManualClock());
  try {
    for (const text of ["first", "second"]) {
      const next = changes.next({ timeoutMs: 1_000, signal });
      appendFileSync(join(folder, "0.log"), text);
      await next;
    }
  } finally {
    changes.close();
    rmSync(folder, { recursive: true });
  }
});

test("resolves after the timeout if the directory cannot be watched", async () => {
  const clock = createManualClock();
  const changes = watchDirectory("/nowhere", clock);
  let resolved = false;
  const next = changes.next({ timeoutMs: 1_000, signal }).then(() => {
    resolved = true;
  });
  await clock.advance(999);
  expect(resolved).toBe(false);
  await clock.advance(1);
  await next;
  changes.close();
});
