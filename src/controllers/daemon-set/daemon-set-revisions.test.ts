import { expect, test } from "vitest";
import type { DaemonSet } from "../../api/meta/objects.ts";
import { podOn, setOf } from "./daemon-set.fixture.ts";
import { decideRevision, newRevision, revisionsToForget } from "./daemon-set-revisions.ts";

const withImage = (image: string) => setOf({}, { containers: [{ name: "c", image }] });
const revisionOf = (set: DaemonSet, number: number, collisionCount?: number) =>
  newRevision(set, { number, collisionCount });
const known = [revisionOf(withImage("b"), 2), revisionOf(withImage("a"), 1)];

test.each([
  ["keeps the newest", "b", { current: { revision: 2 }, number: 2 }],
  ["renumbers an earlier template that is used again", "a", { current: { revision: 1 }, number: 3 }],
  ["numbers a new template", "c", { current: undefined, number: 3 }],
])("%s", (_, image, expected) => {
  expect(decideRevision(withImage(image), known)).toMatchObject(expected);
});

test("keeps the newest of two revisions of one template", () => {
  const decision = decideRevision(withImage("a"), [...known, revisionOf(withImage("a"), 3, 1)]);
  expect(decision).toMatchObject({ current: { revision: 3 }, duplicates: [{ revision: 1 }], number: 3 });
});

test("a revision restores the template and is labeled with its hash", () => {
  const { metadata, data } = revisionOf(setOf(), 1);
  const hash = metadata.labels?.["controller-revision-hash"];
  expect(metadata.name).toBe(`agent-${hash}`);
  expect(data).toEqual({ spec: { template: { ...setOf().spec?.template, $patch: "replace" } } });
  expect(revisionOf(setOf(), 1, 1).metadata.name).not.toBe(metadata.name);
});

test("forgets the oldest revisions beyond the limit that no pod uses", () => {
  const old = ["a", "b", "c"].map((image, index) => revisionOf(withImage(image), index + 1));
  const limited = setOf({ revisionHistoryLimit: 1 });
  expect(revisionsToForget(limited, old, []).map(({ revision }) => revision)).toEqual([1, 2]);
  const user = podOn("n", "old", { labels: old[0]?.metadata.labels });
  expect(revisionsToForget(limited, old, [user]).map(({ revision }) => revision)).toEqual([2, 3]);
  expect(revisionsToForget(setOf(), old, [])).toEqual([]);
});
