import { describe, expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createExpectations } from "./expectations.ts";

describe("expectations", () => {
  const key = "ns/web";

  test("are unsatisfied until all creations and deletions are observed", () => {
    const expectations = createExpectations({ clock: createManualClock() });
    expect(expectations.satisfied(key)).toBe(true);
    expectations.expect(key, { creations: 2, deletions: ["uid-1"] });
    expectations.creationObserved(key);
    expectations.deletionObserved(key, "uid-1");
    expect(expectations.satisfied(key)).toBe(false);
    expectations.creationObserved(key);
    expect(expectations.satisfied(key)).toBe(true);
    expect(expectations.satisfied("ns/other")).toBe(true);
  });

  test("ignore other deletions and repeated ones", () => {
    const expectations = createExpectations({ clock: createManualClock() });
    expectations.expect(key, { deletions: ["uid-1", "uid-2"] });
    for (const deleted of ["uid-1", "uid-1", "uid-3"]) expectations.deletionObserved(key, deleted);
    expect(expectations.satisfied(key)).toBe(false);
    expectations.deletionObserved(key, "uid-2");
    expect(expectations.satisfied(key)).toBe(true);
  });

  test("are satisfied by excess observations, and replaced by new expectations", () => {
    const expectations = createExpectations({ clock: createManualClock() });
    expectations.expect(key, { creations: 1 });
    for (let i = 0; i < 3; i++) expectations.creationObserved(key);
    expect(expectations.satisfied(key)).toBe(true);
    expectations.expect(key, { creations: 1 });
    expect(expectations.satisfied(key)).toBe(false);
    expectations.forget(key);
    expect(expectations.satisfied(key)).toBe(true);
  });

  test("time out after five minutes", async () => {
    const clock = createManualClock();
    const expectations = createExpectations({ clock });
    expectations.expect(key, { creations: 1 });
    await clock.advance(300_000);
    expect(expectations.satisfied(key)).toBe(false);
    await clock.advance(1);
    expect(expectations.satisfied(key)).toBe(true);
  });
});
