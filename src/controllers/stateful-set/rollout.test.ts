import { describe, test } from "vitest";
import { decisions, enforced, expectDecision, parallel } from "./stateful-set.fixture.ts";

describe("revision of a new pod", () => {
  test.each(
    decisions([
      [{ partition: 2 }, [], ["create 0 old"]],
      [{ partition: 2, ...parallel }, [], ["create 0 old", "create 1 old", "create 2 new"]],
      [{ partition: 1, start: 5, ...parallel }, [], ["create 5 old", "create 6 new", "create 7 new"]],
      [{ partition: 0 }, ["0 old ready", "1 old ready"], ["create 2 new"]],
      // Without `rollingUpdate`, pods that were not updated are recreated in the current revision.
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

describe("revision of a lost pod under EnforcedRollingUpdate", () => {
  const stuck = { ...enforced, record: { initial: 3, frontier: 3 } };
  const half = { ...enforced, replicas: 4, record: { initial: 4, frontier: 2 } };
  const everyPod = ["create 0 old", "create 1 old", "create 2 new"];
  test.each(
    decisions([
      // The update has not worked yet: only the largest ordinal may have it.
      [stuck, ["1 old ready", "2 new failing"], ["create 0 old"], "3541-10"],
      [stuck, ["0 old ready", "2 new failing"], ["create 1 old"], "3541-10"],
      [stuck, ["0 old ready", "2 old ready"], ["create 1 old"], "3541-10"],
      [stuck, ["0 old ready", "1 old ready"], ["create 2 new"], "3541-10"],
      [stuck, ["0 old ready"], ["create 1 old"], "3541-10"],
      [{ ...stuck, ...parallel }, ["0 old ready"], ["create 1 old", "create 2 new"], "3541-10"],
      [{ ...stuck, ...parallel }, [], everyPod, "3541-10"],
      // With and without rollingUpdate, whatever the status counts.
      [{ ...stuck, ...parallel, partition: 0 }, [], everyPod, "3541-10"],
      [{ ...stuck, ...parallel, currentReplicas: 0 }, [], everyPod, "3541-10"],
      [{ ...stuck, ...parallel, currentReplicas: 3 }, [], everyPod, "3541-10"],
      // At or above the frontier, also while larger ordinals are lost or fail.
      [half, ["0 old ready", "1 new failing", "3 new failing"], ["create 2 new"], "3541-10"],
      [
        { ...half, ...parallel },
        ["1 new failing"],
        ["create 0 old", "create 2 new", "create 3 new"],
        "3541-10",
      ],
      // Directly below it only while all larger ordinals are available.
      [half, ["0 old ready", "2 new ready", "3 new ready"], ["create 1 new"], "3541-10"],
      [half, ["0 old ready", "2 new ready", "3 new failing"], ["create 1 old"], "3541-10"],
      [half, ["0 old ready", "2 new ready", "3 new terminating"], ["create 1 old"], "3541-10"],
      [
        { ...half, minReadySeconds: 30 },
        ["0 old ready", "2 new ready", "3 new justReady"],
        ["create 1 old"],
        "3541-10",
      ],
      [half, ["1 new failing", "2 new ready", "3 new ready"], ["create 0 old"], "3541-10"],
      // Ordinals that the set did not have when the update began.
      [
        { ...stuck, replicas: 5, ...parallel },
        ["0 old ready", "2 new failing"],
        ["create 1 old", "create 3 new", "create 4 new"],
        "3541-10",
      ],
      [
        { ...enforced, ...parallel, record: { initial: 0, frontier: 0 } },
        [],
        ["create 0 new", "create 1 new", "create 2 new"],
        "3541-10",
      ],
      // maxUnavailable pods are updated at a time.
      [
        { ...stuck, ...parallel, maxUnavailable: 2 },
        [],
        ["create 0 old", "create 1 new", "create 2 new"],
        "3541-10",
      ],
      [{ ...stuck, maxUnavailable: 2 }, ["0 old ready", "2 new failing"], ["create 1 new"], "3541-10"],
      // Below the partition always the current revision.
      [
        { ...enforced, partition: 2, record: { initial: 3, frontier: 0 } },
        ["1 new ready", "2 new ready"],
        ["create 0 old"],
        "3541-10",
      ],
    ]),
  )("%s", expectDecision);
});
