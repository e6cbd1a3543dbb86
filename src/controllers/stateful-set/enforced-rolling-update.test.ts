import { describe, test } from "vitest";
import { decisions, enforced, expectDecision, parallel, permanentOnly } from "./stateful-set.fixture.ts";

describe("EnforcedRollingUpdate", () => {
  test.each(
    decisions([
      [enforced, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      // From the largest ordinal, whatever the others are.
      [enforced, ["0 old ready", "1 old ready", "2 old failing"], ["delete 2 updated"], "3541-3"],
      [enforced, ["0 old failing", "1 old failing", "2 old failing"], ["delete 2 updated"], "3541-3"],
      [enforced, ["0 old failing", "1 old failing", "2 new coming"], []],
      [enforced, ["0 old failing", "1 old failing", "2 new ready"], ["delete 1 updated"], "3541-3"],
      [enforced, ["0 old coming", "1 new ready", "2 new ready"], ["delete 0 updated"], "3541-3"],
      [enforced, ["0 old ready", "1 old ready", "2 new failing"], [], "3541-4"],
      [enforced, ["0 old failing", "1 old failing", "2 new permanent"], [], "3541-4"],
      [enforced, ["0 old ready", "1 old ready", "2 third failing"], ["delete 2 updated"], "3541-4"],
      [
        { ...enforced, ...parallel },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
        "3541-5",
      ],
      [
        { ...enforced, ...parallel },
        ["0 old failing", "1 old failing", "2 new ready"],
        ["delete 1 updated"],
        "3541-5",
      ],
      [{ ...enforced, ...parallel }, ["0 old failing", "1 old failing", "2 new failing"], []],
      [
        { ...enforced, maxUnavailable: 2 },
        ["0 old failing", "1 old ready", "2 old ready"],
        ["delete 2 updated", "delete 1 updated"],
      ],
      [
        { ...enforced, maxUnavailable: 2 },
        ["0 old failing", "1 old failing", "2 new coming"],
        ["delete 1 updated"],
      ],
      [{ ...enforced, maxUnavailable: 2 }, ["0 old failing", "1 new coming", "2 new coming"], []],
      [
        { ...enforced, partition: 2 },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
      ],
      [{ ...enforced, partition: 2 }, ["0 old failing", "1 old failing", "2 new ready"], []],
      // One that goes is waited for: it must be gone before it can come back.
      [enforced, ["0 old ready", "1 old going", "2 new ready"], []],
      [enforced, ["0 old going", "1 old ready", "2 old ready"], []],
      // New pods wait for those before them that are coming up, and for no others.
      [enforced, ["0 new coming"], []],
      [enforced, ["0 new failing"], ["create 1 new"]],
      [enforced, ["0 old coming"], ["create 1 new"]],
      [enforced, ["0 old failing", "1 new coming"], []],
    ]),
  )("%s", expectDecision);
});

describe("permanent-only", () => {
  test.each(
    decisions([
      [permanentOnly, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old failing"], []],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old coming"], []],
      // Never while bytes arrive or a startup budget remains, whatever is wrong beside it.
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+pulling"], []],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+starting"], []],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+started"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent+initializing"], ["delete 2 updated"]],
      [permanentOnly, ["0 old permanent+pulling"], []],
      [{ ...permanentOnly, ...parallel }, ["0 old ready", "1 old ready", "2 old permanent+pulling"], []],
      [permanentOnly, ["0 old failing", "1 old ready", "2 old permanent"], []],
      [permanentOnly, ["0 old permanent", "1 old permanent", "2 new ready"], ["delete 1 updated"]],
      [permanentOnly, ["0 old permanent"], ["create 1 new"]],
      [permanentOnly, ["0 old failing"], []],
      [{ ...permanentOnly, ...parallel }, ["0 old ready", "1 old ready", "2 old failing"], []],
      [
        { ...permanentOnly, ...parallel },
        ["0 old ready", "1 old ready", "2 old permanent"],
        ["delete 2 updated"],
      ],
    ]),
  )("%s", expectDecision);
});
