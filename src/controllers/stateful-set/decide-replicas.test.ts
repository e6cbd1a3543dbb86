import { describe, test } from "vitest";
import { decisions, expectDecision, parallel } from "./stateful-set.fixture.ts";

describe("pods that should be there", () => {
  test.each(
    decisions([
      [{}, [], ["create 0 new"]],
      [{}, ["0 new ready"], ["create 1 new"]],
      [{}, ["0 new coming"], []],
      [{}, ["0 new failing"], []],
      [{}, ["0 new going"], []],
      [{}, ["0 new ready", "2 new ready"], ["create 1 new"]],
      [{}, ["0 new ready", "1 new ready", "2 new ready"], []],
      [{ replicas: 0 }, [], []],
      [{ start: 3 }, [], ["create 3 new"]],
      [{ start: 3 }, ["3 new ready", "4 new ready"], ["create 5 new"]],
      [{ minReadySeconds: 10 }, ["0 new justReady"], []],
      [{ minReadySeconds: 4 }, ["0 new justReady"], ["create 1 new"]],
      [parallel, [], ["create 0 new", "create 1 new", "create 2 new"]],
      [parallel, ["0 new failing", "2 new going"], ["create 1 new"]],
      // What has ended is deleted, and made again once it is gone.
      [{}, ["0 new ready", "1 new Failed", "2 new Succeeded"], ["delete 1 ended"]],
      [parallel, ["0 new ready", "1 new Failed", "2 new Succeeded"], ["delete 1 ended", "delete 2 ended"]],
    ]),
  )("%s", expectDecision);
});
