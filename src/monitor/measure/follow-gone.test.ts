import { describe, expect, test } from "vitest";
import { followGone } from "./follow-gone.ts";
import { followAll, notYet, sketchPod, up } from "./start.fixture.ts";

describe("the end of a pod", () => {
  test("the time it was given is not counted: deletion timestamps are ahead by it", () => {
    const leaving = { ...up, deleted: "16:00:00", graceSeconds: 3_600 };
    const told = followAll([notYet, up, leaving, { ...leaving, sandbox: "False 16:00:07" }]).told;
    expect(told.at(-1)).toBe("terminated 7 s");
  });

  test("a second request with less grace does not count as the first", () => {
    const gone = { ...up, deleted: "16:00:20", graceSeconds: 0, sandbox: "False 16:00:21" };
    expect(followAll([notYet, up, { ...up, deleted: "16:00:00" }, gone]).told.at(-1)).toBe("terminated 21 s");
  });

  test("a pod that was done before has nothing to terminate", () => {
    const done = { ...up, phase: "Succeeded", ready: "False 15:50:00", sandbox: "False 15:50:01" };
    const { told, state } = followAll([notYet, up, done, { ...done, deleted: "16:00:00" }]);
    expect(told.slice(6)).toEqual([]);
    expect(followGone(state, sketchPod(done))).toEqual([]);
  });

  test("gone without a word", () => {
    expect(followGone(followAll([notYet, up]).state, sketchPod(up))).toEqual([
      { kind: "unknown", what: "termination" },
    ]);
    expect(followGone(followAll([notYet]).state, sketchPod(notYet))).toEqual([
      { kind: "abandoned", stage: "sandbox" },
    ]);
  });

  test("failed on the way", () => {
    expect(followAll([notYet, { ...notYet, phase: "Failed" }]).told.at(-1)).toBe("abandoned in sandbox");
  });
});
