import { describe, test } from "vitest";
import { decisions, enforced, expectDecision, parallel, permanentOnly } from "./stateful-set.fixture.ts";

describe("pods that should not be there", () => {
  const one = { replicas: 1 };
  test.each(
    decisions([
      [one, ["0 new ready", "1 new ready", "2 new ready"], ["delete 2 scaledDown"]],
      [one, ["0 new ready", "1 new ready", "2 new going"], []],
      // An unhealthy one goes once it is the only one that is not well.
      [one, ["0 new ready", "1 new ready", "2 new failing"], ["delete 2 scaledDown"]],
      [one, ["0 new ready", "1 new failing", "2 new failing"], []],
      [one, ["0 new ready", "1 new failing", "2 new ready"], ["delete 2 scaledDown"]],
      [one, ["0 new failing", "1 new ready"], []],
      [
        { ...one, ...parallel },
        ["0 new failing", "1 new failing", "2 new going", "3 new ready"],
        ["delete 3 scaledDown", "delete 1 scaledDown"],
      ],
      [{ replicas: 2, start: 1 }, ["0 new ready", "1 new ready", "2 new ready"], ["delete 0 scaledDown"]],
      [
        { ...one, ...enforced },
        ["0 new failing", "1 new failing", "2 new failing"],
        ["delete 2 scaledDown"],
        "3541-6",
      ],
      [{ ...one, ...enforced }, ["0 new coming", "1 new ready"], ["delete 1 scaledDown"], "3541-6"],
      [{ ...one, ...enforced }, ["0 new failing", "1 new going"], []],
      [{ ...one, ...permanentOnly }, ["0 new failing", "1 new failing"], ["delete 1 scaledDown"]],
      // Scaling comes before updates.
      [{ ...one, partition: 0 }, ["0 old ready", "1 old ready"], ["delete 1 scaledDown"]],
    ]),
  )("%s", expectDecision);
});
