import { describe, test } from "vitest";
import { runsSlowTests, slowName } from "../fuzz/rounds.ts";

/** A `describe` that `npm test` skips and CI runs. */
export function describeSlow(name: string, body: () => void): void {
  describe.skipIf(!runsSlowTests)(slowName(name), body);
}

/** A `test` that `npm test` skips and CI runs. */
export function slowTest(name: string, body: () => Promise<void>): void {
  test.skipIf(!runsSlowTests)(slowName(name), body);
}

/** A `describe` that repeats tests of `first`: `npm test` skips it where `first` runs. */
export function describeRepetition(name: string, { first }: { first: boolean }, body: () => void): void {
  if (first) describeSlow(name, body);
  else describe(name, body);
}
