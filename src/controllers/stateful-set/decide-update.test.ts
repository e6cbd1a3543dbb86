import { describe, test } from "vitest";
import { decisions, expectDecision, parallel } from "./stateful-set.fixture.ts";

describe("RollingUpdate", () => {
  test.each(
    decisions([
      [{}, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [{}, ["0 old ready", "1 old ready", "2 new ready"], ["delete 1 updated"]],
      [{}, ["0 old ready", "1 old ready", "2 new coming"], []],
      [{}, ["0 old ready", "1 old ready", "2 old failing"], [], "3541-2"],
      [{}, ["0 old failing", "1 old failing", "2 old failing"], [], "3541-2"],
      [{}, ["0 old permanent"], [], "3541-2"],
      [{ partition: 1 }, ["0 old ready", "1 old ready", "2 new ready"], ["delete 1 updated"]],
      [{ partition: 1 }, ["0 old ready", "1 new ready", "2 new ready"], []],
      [{ partition: 9 }, ["0 old ready", "1 old ready", "2 old ready"], []],
      [
        { maxUnavailable: 2 },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["delete 2 updated", "delete 1 updated"],
      ],
      [
        { maxUnavailable: "67%" },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["delete 2 updated", "delete 1 updated"],
      ],
      [{ maxUnavailable: "1%" }, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [
        { maxUnavailable: 2, partition: 2 },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["delete 2 updated"],
      ],
      [{ minReadySeconds: 10 }, ["0 old ready", "1 old ready", "2 new justReady"], []],
      [{ type: "OnDelete" }, ["0 old ready", "1 old ready", "2 old ready"], []],
      [
        parallel,
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated", "delete 1 updated", "delete 0 updated"],
        "3541-5",
      ],
      [parallel, ["0 old ready", "1 old failing", "2 old ready"], ["delete 1 updated"], "3541-5"],
      [
        { ...parallel, maxUnavailable: 2 },
        ["0 old ready", "1 old failing", "2 old ready"],
        ["delete 1 updated", "delete 2 updated"],
      ],
      [parallel, ["0 old ready", "1 old ready", "2 new failing"], []],
      [parallel, ["0 old ready", "1 old ready", "2 old going"], []],
      [
        { ...parallel, partition: 2 },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
      ],
    ]),
  )("%s", expectDecision);
});
