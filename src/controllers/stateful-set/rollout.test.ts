import { describe, test } from "vitest";
import { decisions, enforced, expectDecision, parallel } from "./stateful-set.fixture.ts";

describe("which revision a new pod has", () => {
  test.each(
    decisions([
      [{ partition: 2 }, [], ["create 0 old"]],
      [{ partition: 2, ...parallel }, [], ["create 0 old", "create 1 old", "create 2 new"]],
      [{ partition: 1, start: 5, ...parallel }, [], ["create 5 old", "create 6 new", "create 7 new"]],
      [{ partition: 0 }, ["0 old ready", "1 old ready"], ["create 2 new"]],
      // Without `rollingUpdate`, pods that were not updated come back as they were.
      [{ currentReplicas: 2 }, ["0 old ready"], ["create 1 old"]],
      [{ currentReplicas: 1 }, ["0 old ready"], ["create 1 new"]],
      [{ currentReplicas: 2, ...parallel }, ["1 old ready", "2 old ready"], ["create 0 new"]],
      [{ ...enforced, currentReplicas: 3 }, ["0 old ready", "1 old ready"], ["create 2 new"], "3541-7"],
      [
        { ...enforced, currentReplicas: 3, replicas: 4 },
        ["0 old ready", "1 old ready", "2 old ready"],
        ["create 3 new"],
        "3541-7",
      ],
      [{ ...enforced, partition: 2, ...parallel }, [], ["create 0 old", "create 1 old", "create 2 new"]],
      [{ type: "OnDelete", currentReplicas: 3 }, ["0 old ready"], ["create 1 new"]],
    ]),
  )("%s", expectDecision);
});
