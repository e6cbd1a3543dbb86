import { expect, test } from "vitest";
import { createCpuRates } from "./cpu-rates.ts";

test("a rate needs two readings a second apart, and stays until the next", () => {
  const rates = createCpuRates({ known: () => true });
  expect(rates.read("a", { cpuNanos: 0, at: 0 })).toBeUndefined();
  expect(rates.read("a", { cpuNanos: 5e8, at: 500 })).toBeUndefined();
  expect(rates.read("a", { cpuNanos: 1e9, at: 2_000 })).toBe(5e8);
  expect(rates.read("a", { cpuNanos: 9e9, at: 2_100 })).toBe(5e8);
});

test("what went backwards counts as nothing", () => {
  const rates = createCpuRates({ known: () => true });
  rates.read("a", { cpuNanos: 5, at: 0 });
  expect(rates.read("a", { cpuNanos: 0, at: 1_000 })).toBe(0);
});
