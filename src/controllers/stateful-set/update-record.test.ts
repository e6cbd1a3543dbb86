import { describe, expect, test } from "vitest";
import type { StatefulSet } from "../../api/meta/objects.ts";
import { makeFacts, makeSet, type SetOptions } from "./stateful-set.fixture.ts";
import {
  decideUpdateRecord,
  type UpdateRecord,
  updateRecordAnnotation,
  withUpdateRecord,
} from "./update-record.ts";

interface Stored extends Partial<UpdateRecord> {
  readonly text?: string;
}

const none = { start: 0, replicas: 0 };
const range = (start: number, replicas: number) => ({ start, replicas });
const initial: UpdateRecord = {
  uid: "set",
  revision: { name: "new", number: 2 },
  initialOrdinals: range(0, 3),
  frontier: 3,
  ordinals: range(0, 3),
};
/** The previous update. */
const earlier = { revision: { name: "old", number: 1 } };

function setWith(options: SetOptions, stored: Stored | undefined, currentRevision = "old"): StatefulSet {
  const { text = JSON.stringify({ ...initial, ...stored }) } = stored ?? {};
  const set = makeSet({ ...options, ...(stored && { annotations: { [updateRecordAnnotation]: text } }) });
  return { ...set, status: { replicas: 0, currentRevision } };
}

function decide(options: SetOptions, stored: Stored | undefined, pods: readonly string[], current?: string) {
  const { initialOrdinals, frontier, ordinals } = decideUpdateRecord(
    makeFacts(setWith(options, stored, current), pods),
  );
  return { initialOrdinals, frontier, ordinals };
}

const healthy = ["0 old ready", "1 old ready", "2 old ready"];

describe("3541-10 an update begins", () => {
  test.each<[string, SetOptions, Stored, readonly string[], Partial<UpdateRecord>]>([
    [
      "with the ordinals that the set had",
      {},
      earlier,
      healthy,
      { initialOrdinals: range(0, 3), frontier: 3 },
    ],
    ["also when all pods are lost", {}, earlier, [], { initialOrdinals: range(0, 3), frontier: 3 }],
    [
      "without ordinals that the same change adds",
      { replicas: 5 },
      earlier,
      healthy,
      { initialOrdinals: range(0, 3), frontier: 3 },
    ],
    [
      "without ordinals below that the same change adds",
      { start: 0 },
      { ...earlier, ordinals: range(1, 2) },
      [],
      { initialOrdinals: range(1, 2), frontier: 3 },
    ],
    [
      "with ordinals that were added before",
      { replicas: 5 },
      earlier,
      [...healthy, "3 old creating"],
      { initialOrdinals: range(0, 4), frontier: 4 },
    ],
    [
      "without ordinals that were removed",
      { replicas: 2 },
      earlier,
      healthy,
      { initialOrdinals: range(0, 2), frontier: 2 },
    ],
    [
      "again when the template changes during the update",
      {},
      { revision: { name: "third", number: 1 }, frontier: 1 },
      ["0 old ready", "1 third ready", "2 third ready"],
      { initialOrdinals: range(0, 3), frontier: 3 },
    ],
    [
      "again for a rollback to a revision of an earlier update",
      {},
      { revision: { name: "new", number: 1 }, frontier: 0 },
      ["0 new ready", "1 new ready", "2 third failing"],
      { initialOrdinals: range(0, 3), frontier: 3 },
    ],
    [
      "with a frontier that pods of that revision have reached",
      {},
      earlier,
      ["0 old ready", "1 new ready", "2 new ready"],
      { initialOrdinals: range(0, 3), frontier: 1 },
    ],
    [
      "without ordinals after a first rollout that never finished",
      {},
      { ...earlier, initialOrdinals: none, frontier: 0, ordinals: none },
      ["0 old ready", "1 old failing", "2 old creating"],
      { initialOrdinals: none, frontier: 0, ordinals: none },
    ],
    [
      "with all ordinals if every pod was Ready",
      {},
      { ...earlier, initialOrdinals: none, frontier: 0, ordinals: none },
      healthy,
      { initialOrdinals: range(0, 3), frontier: 3 },
    ],
  ])("%s", (_, options, stored, pods, expected) => {
    expect(decide(options, stored, pods)).toMatchObject(expected);
  });
});

describe("3541-10 the frontier", () => {
  test.each<[string, SetOptions, Stored, readonly string[], Partial<UpdateRecord>]>([
    [
      "moves down past Ready pods of the update revision",
      {},
      {},
      ["0 old ready", "1 new ready", "2 new ready"],
      { frontier: 1 },
    ],
    [
      "stops at one that is not Ready",
      {},
      {},
      ["0 new ready", "1 new creating", "2 new ready"],
      { frontier: 2 },
    ],
    ["stops at one that is lost", {}, {}, ["0 new ready", "1 new ready"], { frontier: 3 }],
    ["does not move up again", {}, { frontier: 1 }, ["0 old ready", "1 new failing"], { frontier: 1 }],
    ["ends at the first ordinal", { start: 0 }, { frontier: 1 }, ["0 new ready"], { frontier: 0 }],
    [
      "is not above the ordinals that are left after scaling down",
      { replicas: 2 },
      {},
      ["0 old ready", "1 new ready"],
      { initialOrdinals: range(0, 2), frontier: 1, ordinals: range(0, 2) },
    ],
    [
      "does not wait for ordinals that were added later",
      { replicas: 5 },
      {},
      ["0 old ready", "1 old ready", "2 new ready", "3 new failing"],
      { initialOrdinals: range(0, 3), frontier: 2, ordinals: range(0, 4) },
    ],
    [
      "stays while an informer shows an older number of the revision",
      {},
      { revision: { name: "new", number: 3 }, frontier: 1 },
      [],
      { frontier: 1 },
    ],
  ])("%s", (_, options, stored, pods, expected) => {
    expect(decide(options, stored, pods)).toMatchObject(expected);
  });
});

describe("3541-10 a first rollout", () => {
  const first = (wanted: number, ...ready: { start: number; replicas: number }[]) => ({
    ...initial,
    initialOrdinals: none,
    frontier: 0,
    ordinals: none,
    firstRollout: { wanted: range(0, wanted), ready },
  });
  const decideFirst = (options: SetOptions, stored: Stored, pods: readonly string[]) => {
    const { ordinals, firstRollout } = decideUpdateRecord(makeFacts(setWith(options, stored), pods));
    return { ordinals, ready: firstRollout?.ready };
  };

  test.each<[string, SetOptions, Stored, readonly string[], object]>([
    ["keeps Ready pods", {}, first(3), ["0 new ready"], { ordinals: none, ready: [range(0, 1)] }],
    [
      "keeps pods that were Ready and are lost",
      {},
      first(3, range(0, 2)),
      ["0 new ready", "2 new failing"],
      { ordinals: none, ready: [range(0, 2)] },
    ],
    [
      "finishes when the last one is Ready",
      {},
      first(3, range(0, 2)),
      ["2 new ready"],
      { ordinals: range(0, 3), ready: undefined },
    ],
    [
      "joins ranges",
      {},
      first(3, range(0, 1), range(2, 1)),
      ["1 new ready"],
      { ordinals: range(0, 3), ready: undefined },
    ],
    [
      "had finished before a change of template and replicas",
      { replicas: 5 },
      { ...first(3, range(0, 2)), ...earlier },
      ["0 old ready", "2 old ready"],
      { ordinals: range(0, 3), ready: undefined },
    ],
    [
      "had not finished before a change of template and replicas: begins again with the Ready pods",
      { replicas: 5 },
      { ...first(3, range(0, 2)), ...earlier },
      ["0 old ready", "2 old failing"],
      { ordinals: none, ready: [range(0, 1)] },
    ],
    [
      "does not wait for ordinals that are no longer wanted",
      { replicas: 2 },
      first(3, range(0, 1)),
      ["1 new ready"],
      { ordinals: range(0, 2), ready: undefined },
    ],
    [
      "of an earlier version finishes with its pods",
      {},
      { ...first(3), firstRollout: undefined },
      ["0 new ready", "1 new ready", "2 new ready"],
      { ordinals: range(0, 3), ready: undefined },
    ],
  ])("%s", (_, options, stored, pods, expected) => {
    expect(decideFirst(options, stored, pods)).toEqual(expected);
  });

  test("stores at most 100 ranges", () => {
    const pods = Array.from({ length: 150 }, (_, index) => `${2 * index} new ready`);
    expect(decideFirst({ replicas: 300 }, first(300), pods).ready).toHaveLength(100);
  });
});

describe("3541-10 a set without a usable record", () => {
  test.each<[string, Stored | undefined]>([
    ["none", undefined],
    ["not JSON", { text: "{" }],
    ["null", { text: "null" }],
    ["another shape", { text: '{"uid":"set","frontier":"x"}' }],
    ["negative numbers", { frontier: -1 }],
    ["of another set", { uid: "copied", frontier: 0 }],
    [
      "a first rollout of another shape",
      { text: JSON.stringify({ ...initial, firstRollout: { ready: 3 } }) },
    ],
  ])("%s: is assumed to have had every ordinal", (_, stored) => {
    const pods = ["0 old ready", "1 old ready"];
    expect(decide({}, stored, pods)).toEqual({
      initialOrdinals: range(0, 3),
      frontier: 3,
      ordinals: range(0, 3),
    });
    const updated = ["0 old ready", "1 new ready", "2 new ready"];
    expect(decide({}, stored, updated)).toMatchObject({ frontier: 1 });
  });

  test("has no ordinals if the set is new", () => {
    expect(decide({}, undefined, [], "")).toEqual({ initialOrdinals: none, frontier: 0, ordinals: none });
  });
});

describe("3541-10 the record on the set", () => {
  test("is written when it changed, beside other annotations, and read back", () => {
    const set = makeSet({ annotations: { own: "x" } });
    const written = withUpdateRecord(set, initial);
    expect(written?.metadata.annotations).toEqual({
      own: "x",
      [updateRecordAnnotation]: JSON.stringify(initial),
    });
    expect(withUpdateRecord(written ?? set, initial)).toBeUndefined();
    expect(withUpdateRecord(written ?? set, { ...initial, frontier: 2 })).toBeDefined();
  });

  test("is removed under another strategy", () => {
    const removed = withUpdateRecord(setWith({ annotations: {} }, initial), undefined);
    expect(removed?.metadata.annotations).toEqual({});
    expect(withUpdateRecord(makeSet(), undefined)).toBeUndefined();
  });
});
