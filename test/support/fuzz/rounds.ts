/**
 * Multiplier for the rounds of kill loops, fuzzers and property tests. The default keeps `npm test` short; CI sets it
 * to `ciMultiplier`.
 */
const multiplier = readNumber("KINDLING_TEST_ROUNDS", 1);

/** Multiplier that `.ci/run` sets. Tests that are too slow for `npm test` run from there on. */
const ciMultiplier = 10;

/** Seed of the fuzzers. A failure prints the seed that reproduces it. */
export const seed = readNumber("KINDLING_TEST_SEED", 20_260_301);

/** Returns how many rounds to run: `base` by default, `base` times `KINDLING_TEST_ROUNDS` where that is set. */
export function rounds(base: number): number {
  return Math.max(1, Math.round(base * multiplier));
}

/** Whether slow tests run: in CI, and wherever `KINDLING_TEST_ROUNDS` is at least as high. */
export const runsSlowTests = multiplier >= ciMultiplier;

/** Returns the name of a test that only runs where `runsSlowTests` is true. A skipped test says how to run it. */
export function slowName(name: string): string {
  return runsSlowTests ? name : `${name} [slow, runs with KINDLING_TEST_ROUNDS=${ciMultiplier}]`;
}

function readNumber(variable: string, fallback: number): number {
  const text = process.env[variable];
  const value = text === undefined || text === "" ? fallback : Number(text);
  if (!(value > 0)) throw new Error(`${variable} is ${text}: set it to a number above 0`);
  return value;
}
