import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { createChildAbort } from "./abort.ts";

const reason = new Error("enough");

test("aborts with its parent, for the same reason", () => {
  const parent = new AbortController();
  const child = createChildAbort(parent.signal);
  expect(child.signal.aborted).toBe(false);
  parent.abort(reason);
  expect(child.signal.reason).toBe(reason);
  expect(createChildAbort(parent.signal).signal.reason).toBe(reason);
});

test("aborts separately, and removes its listener from the parent", () => {
  const parent = new AbortController();
  const child = createChildAbort(parent.signal);
  child.abort(reason);
  expect(child.signal.reason).toBe(reason);
  expect(parent.signal.aborted).toBe(false);
  expect(getEventListeners(parent.signal, "abort")).toEqual([]);
});
