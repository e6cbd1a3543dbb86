import { expect, test } from "vitest";
import { certificateProblem, clockJumpMs } from "./watch-clock.ts";

const hour = 3_600_000;

test.each([
  ["in step", { wallMs: 10_000, steadyMs: 10_000 }, 0],
  ["corrected a little", { wallMs: 12_000, steadyMs: 10_000 }, 0],
  ["set forwards", { wallMs: 10_000 + hour, steadyMs: 10_000 }, hour],
  ["set backwards", { wallMs: 10_000 - hour, steadyMs: 10_000 }, -hour],
  ["held up by a busy machine", { wallMs: hour, steadyMs: hour }, 0],
])("%s", (_, after, jumpMs) => {
  expect(clockJumpMs({ wallMs: 0, steadyMs: 0 }, after)).toBe(jumpMs);
});

test.each([
  ["2026-01-01T00:00:00Z", /is valid from/],
  ["2026-03-01T00:00:00Z", undefined],
  ["2027-03-02T00:00:00Z", /expired on/],
])("at %s", (now, problem) => {
  const certificate = { validFrom: "Feb 28 00:00:00 2026 GMT", validTo: "Feb 28 00:00:00 2027 GMT" };
  const found = certificateProblem(certificate, Date.parse(now));
  if (problem) expect(found).toMatch(problem);
  else expect(found).toBeUndefined();
});
