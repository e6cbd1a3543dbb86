import { describe, test } from "vitest";
import {
  decisions,
  enforced,
  expectDecision,
  neverUnstick,
  parallel,
  permanentOnly,
  unstick,
} from "./stateful-set.fixture.ts";

describe("EnforcedRollingUpdate", () => {
  test.each(
    decisions([
      [enforced, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      // Starts with the largest ordinal, whatever the state of the others.
      [enforced, ["0 old ready", "1 old ready", "2 old failing"], ["delete 2 updated"], "3541-3"],
      [enforced, ["0 old failing", "1 old failing", "2 old failing"], ["delete 2 updated"], "3541-3"],
      [enforced, ["0 old failing", "1 old failing", "2 new creating"], []],
      [enforced, ["0 old failing", "1 old failing", "2 new ready"], ["delete 1 updated"], "3541-3"],
      [enforced, ["0 old creating", "1 new ready", "2 new ready"], ["delete 0 updated"], "3541-3"],
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
        ["0 old failing", "1 old failing", "2 new creating"],
        ["delete 1 updated"],
      ],
      [{ ...enforced, maxUnavailable: 2 }, ["0 old failing", "1 new creating", "2 new creating"], []],
      [
        { ...enforced, partition: 2 },
        ["0 old failing", "1 old failing", "2 old failing"],
        ["delete 2 updated"],
      ],
      [{ ...enforced, partition: 2 }, ["0 old failing", "1 old failing", "2 new ready"], []],
      // A terminating pod is waited for: it must be gone before it can be recreated.
      [enforced, ["0 old ready", "1 old terminating", "2 new ready"], []],
      [enforced, ["0 old terminating", "1 old ready", "2 old ready"], []],
      // New pods wait only for starting pods before them.
      [enforced, ["0 new creating"], []],
      [enforced, ["0 new failing"], ["create 1 new"]],
      [enforced, ["0 old creating"], ["create 1 new"]],
      [enforced, ["0 old failing", "1 new creating"], []],
    ]),
  )("%s", expectDecision);
});

describe("maxUnavailable of EnforcedRollingUpdate", () => {
  const two = { ...enforced, maxUnavailable: 2 };
  test.each(
    decisions([
      // A Ready pod stays while another one, of any ordinal, is starting or terminating.
      [enforced, ["0 old ready", "1 third creating", "2 third ready"], [], "3541-11"],
      [enforced, ["0 old creating", "1 third ready", "2 third ready"], [], "3541-11"],
      [
        { ...enforced, minReadySeconds: 30 },
        ["0 old ready", "1 third justReady", "2 third ready"],
        [],
        "3541-11",
      ],
      [{ ...enforced, ...parallel }, ["0 old terminating", "1 old ready", "2 old ready"], [], "3541-11"],
      [{ ...enforced, ...parallel }, ["1 old ready", "2 old ready"], ["create 0 new"], "3541-11"],
      [
        { ...enforced, ...parallel },
        ["0 old ready", "1 old ready", "2 old ready", "3 old terminating"],
        [],
        "3541-11",
      ],
      [
        { ...enforced, ...parallel },
        ["0 old ready", "1 old ready", "2 old ready", "3 old ready"],
        ["delete 3 scaledDown"],
        "3541-11",
      ],
      // A pod that fails or is overdue does not count.
      [enforced, ["0 old ready", "1 third failing", "2 third ready"], ["delete 2 updated"], "3541-11"],
      [enforced, ["0 old ready", "1 third overdue", "2 third ready"], ["delete 2 updated"], "3541-11"],
      // Neither does the pod itself, if it is Ready and not yet available.
      [
        { ...enforced, minReadySeconds: 30 },
        ["0 old ready", "1 old ready", "2 third justReady"],
        ["delete 2 updated"],
        "3541-11",
      ],
      // An unavailable pod of an old revision is replaced at once, whatever the state of the others.
      [enforced, ["0 old ready", "1 old creating", "2 third creating"], ["delete 2 updated"], "3541-11"],
      [enforced, ["0 old creating", "1 old creating", "2 third failing"], ["delete 2 updated"], "3541-11"],
      // In order: not before the larger ordinals.
      [enforced, ["0 old ready", "1 third failing", "2 new creating"], [], "3541-11"],
      [
        two,
        ["0 old ready", "1 old ready", "2 third creating"],
        ["delete 2 updated", "delete 1 updated"],
        "3541-11",
      ],
      [two, ["0 old creating", "1 old ready", "2 third failing"], ["delete 2 updated"], "3541-11"],
      [two, ["0 old creating", "1 old ready", "2 old ready"], ["delete 2 updated"], "3541-11"],
      [two, ["0 old creating", "1 old creating", "2 old ready"], ["delete 1 updated"], "3541-11"],
      // A pod that ran is recreated; a rejected one may be recreated forever.
      [
        { ...enforced, ...parallel },
        ["0 old evicted", "1 old ready", "2 old ready"],
        ["delete 0 ended"],
        "3541-11",
      ],
      [enforced, ["0 old evicted", "1 old ready", "2 old ready"], ["delete 0 ended"], "3541-11"],
      [
        enforced,
        ["0 old Failed", "1 old ready", "2 old ready"],
        ["delete 0 ended", "delete 2 updated"],
        "3541-11",
      ],
      [enforced, ["0 old Failed", "1 old ready"], ["delete 0 ended"], "3541-11"],
      [permanentOnly, ["0 old Failed", "1 old ready", "2 old ready"], ["delete 0 ended"], "3541-11"],
    ]),
  )("%s", expectDecision);
});

describe("permanent-only", () => {
  test.each(
    decisions([
      [permanentOnly, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old permanent"], ["delete 2 updated"]],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old failing"], []],
      [permanentOnly, ["0 old ready", "1 old ready", "2 old creating"], []],
      // Never while a container pulls or has startup budget left, whatever else has failed.
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

describe("never", () => {
  const byRollingUpdate = decisions([
    [neverUnstick, ["0 old ready", "1 old ready", "2 old ready"], ["delete 2 updated"]],
    [neverUnstick, ["0 old ready", "1 old ready", "2 old permanent"], []],
    [neverUnstick, ["0 old ready", "1 old ready", "2 old failing"], []],
    [neverUnstick, ["0 old ready", "1 old ready", "2 old creating"], []],
    [neverUnstick, ["0 old permanent"], []],
    [neverUnstick, ["0 old Failed", "1 old ready", "2 old ready"], ["delete 0 ended"]],
    // Scaling down waits too.
    [{ ...neverUnstick, replicas: 1 }, ["0 new ready", "1 new failing", "2 new failing"], []],
    // Parallel replaces unavailable pods with RollingUpdate, too.
    [
      { ...neverUnstick, ...parallel },
      ["0 old ready", "1 old ready", "2 old permanent"],
      ["delete 2 updated"],
    ],
  ]);

  test.each(byRollingUpdate)("decides as RollingUpdate: %s", (name, [options, pods, actions]) => {
    expectDecision(name, [options, pods, actions]);
    expectDecision(name, [{ ...options, type: "RollingUpdate", currentReplicas: 0 }, pods, actions]);
  });

  test.each(
    decisions([
      // An unknown value is treated as never; always is the default.
      [unstick("sometimes"), ["0 old ready", "1 old ready", "2 old permanent"], []],
      [unstick(""), ["0 old ready", "1 old ready", "2 old permanent"], []],
      [unstick("always"), ["0 old ready", "1 old ready", "2 old failing"], ["delete 2 updated"]],
      // A lost pod is created in the revision that its ordinal has reached.
      [
        { ...neverUnstick, record: { initial: 3, frontier: 3 } },
        ["1 old ready", "2 old ready"],
        ["create 0 old"],
      ],
    ]),
  )("%s", expectDecision);
});
