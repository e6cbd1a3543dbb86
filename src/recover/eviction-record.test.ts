import { describe, expect, test } from "vitest";
import { addEviction, type EvictionRecord, isObsolete, parseRecord } from "./eviction-record.ts";
import { makeRecoverySet } from "./recovery.fixture.ts";

const planned = { key: "shop/db", uid: "set", revision: "db-2", number: 2, ordinal: 1, podUid: "pod-b" };
const recorded = (pods: Readonly<Record<string, string>>, more: object = {}): EvictionRecord => ({
  "shop/db": { uid: "set", revision: "db-2", number: 2, pods, ...more },
});

describe("addEviction", () => {
  test.each<[string, EvictionRecord, EvictionRecord | string]>([
    ["records the first eviction", {}, recorded({ 1: "pod-b" })],
    ["adds another ordinal", recorded({ 2: "pod-c" }), recorded({ 1: "pod-b", 2: "pod-c" })],
    ["allows the same pod again", recorded({ 1: "pod-b" }), recorded({ 1: "pod-b" })],
    ["rejects another pod of the ordinal", recorded({ 1: "pod-a" }), "repeated"],
    ["forgets an earlier revision", recorded({ 1: "a" }, { number: 1 }), recorded({ 1: "pod-b" })],
    ["forgets an earlier set of that name", recorded({ 1: "a" }, { uid: "x" }), recorded({ 1: "pod-b" })],
    ["rejects a decision about an earlier revision", recorded({}, { number: 3 }), "outdated"],
  ])("%s", (_, record, expected) => {
    const outcome = addEviction(record, planned);
    expect(outcome.kind === "recorded" ? outcome.record : outcome.kind).toEqual(expected);
  });

  test("keeps the evictions of other sets", () => {
    const record = { "shop/cache": { uid: "other", revision: "c-1", number: 1, pods: { 0: "p" } } };
    expect(addEviction(record, planned)).toMatchObject({
      record: { ...record, ...recorded({ 1: "pod-b" }) },
    });
  });

  test("stops recording before the annotation exceeds the limit of the API server", () => {
    let record: EvictionRecord = {};
    for (let ordinal = 0; ; ordinal++) {
      const outcome = addEviction(record, { ...planned, ordinal, podUid: "x".repeat(36) });
      if (outcome.kind === "full") break;
      if (outcome.kind === "recorded") record = outcome.record;
    }
    expect(JSON.stringify(record).length).toBeLessThan(2 ** 18);
    expect(Object.keys(record["shop/db"]?.pods ?? {}).length).toBeGreaterThan(3_000);
  });
});

describe("isObsolete", () => {
  const evictions = { uid: "set", revision: "db-2", number: 2, pods: {} };
  const set = (uid: string, updateRevision: string) => {
    const made = makeRecoverySet({ updateRevision });
    return { ...made, metadata: { ...made.metadata, uid } };
  };
  test.each([
    ["the set is gone", undefined, true],
    ["another set has its name", set("x", "db-2"), true],
    ["the update revision is another one", set("set", "db-3"), true],
    ["the update goes on", set("set", "db-2"), false],
    ["the set has no status", { ...set("set", ""), status: undefined }, false],
  ])("%s", (_, set, expected) => expect(isObsolete(evictions, set)).toBe(expected));
});

describe("parseRecord", () => {
  const lease = (text: string) => ({ metadata: { annotations: { "kindling.dev/evictions": text } } });

  test("reads what addEviction made, and nothing from a lease without the annotation", () => {
    const record = recorded({ 1: "pod-b" });
    expect(parseRecord(lease(JSON.stringify(record)))).toEqual(record);
    expect(parseRecord({ metadata: {} })).toEqual({});
    expect(parseRecord(undefined)).toEqual({});
  });

  test.each([
    "",
    "{",
    "null",
    "[]",
    '{"a/b":null}',
    '{"a/b":{"uid":"u","revision":"r","number":1,"pods":[]}}',
    '{"a/b":{"uid":"u","revision":"r","number":1,"pods":{"0":1}}}',
    '{"a/b":{"uid":"u","revision":"r","number":"1","pods":{}}}',
  ])("rejects %j instead of forgetting evictions", (text) =>
    expect(() => parseRecord(lease(text))).toThrow("is not a record of evictions; remove it"),
  );
});
