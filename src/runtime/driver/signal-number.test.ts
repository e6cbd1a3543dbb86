import { expect, it } from "vitest";
import { signalNumber } from "./signal-number.ts";

it.each([
  ["SIGTERM", 15],
  ["term", 15],
  ["9", 9],
  ["SIGRTMIN+3", 37],
  ["RTMAX-1", 63],
  ["SIGRTMIN", 34],
])("%s is %i", (name, number) => {
  expect(signalNumber(name)).toBe(number);
});

it.each(["", "NOPE", "0", "65", "-9", "SIGRTMIN+99"])("%s is none", (name) => {
  expect(() => signalNumber(name)).toThrow(/not a signal/);
});
