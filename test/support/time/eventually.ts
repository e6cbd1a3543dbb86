import { expect } from "vitest";

/** Returns assertions that are repeated until they hold. */
export function eventually<T>(get: () => T | Promise<T>) {
  return expect.poll(get, { interval: 20 });
}
