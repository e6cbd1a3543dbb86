import { describe, expect, test } from "vitest";
import type { ControllerRevision, StatefulSet } from "../../api/meta/objects.ts";
import { revisionText, sortRevisions, templateOf, templateText } from "../shared/revision-data.ts";
import { makePod, makeSet } from "./stateful-set.fixture.ts";
import { decideUpdateRevision, newRevision, revisionsToForget } from "./stateful-set-revisions.ts";
import { updateRecordAnnotation } from "./update-record.ts";

function withImage(image: string): StatefulSet {
  const set = makeSet();
  if (set.spec) set.spec.template.spec = { containers: [{ name: "c", image }] };
  return set;
}

const revisionOf = (image: string, revision: number) =>
  newRevision(withImage(image), { revision, collisionCount: 0 });

describe("the update revision", () => {
  const known = [revisionOf("a", 1), revisionOf("b", 2)];

  test.each([
    ["is kept while the template is unchanged", "b", { kind: "keep", revision: { revision: 2 } }],
    ["is renumbered for an earlier template", "a", { kind: "renumber", revision: { revision: 1 }, to: 3 }],
    ["is created for a new template", "c", { kind: "create", revision: { revision: 3 } }],
  ])("%s", (_, image, expected) => {
    expect(decideUpdateRevision(withImage(image), known, 0)).toMatchObject(expected);
  });

  test("starts with number 1", () => {
    expect(decideUpdateRevision(withImage("a"), [], 0)).toMatchObject({
      kind: "create",
      revision: { revision: 1 },
    });
  });

  test("is not changed by defaults that an older server did not set", () => {
    const set = withImage("a");
    const bare = newRevision(set, { revision: 1, collisionCount: 0 });
    const spec = set.spec?.template.spec;
    if (spec) {
      Object.assign(spec, {
        restartPolicy: "Always",
        dnsPolicy: "ClusterFirst",
        terminationGracePeriodSeconds: 30,
        schedulerName: "default-scheduler",
        securityContext: {},
        containers: [
          {
            name: "c",
            image: "a",
            imagePullPolicy: "Always",
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
            resources: {},
          },
        ],
      });
    }
    const fresh = structuredClone(set);
    expect(decideUpdateRevision(fresh, [bare], 0)).toEqual({ kind: "keep", revision: bare });
  });
});

test("sorts revisions by number, then time, then name", () => {
  const make = (revision: number, creationTimestamp: string, name: string): ControllerRevision => {
    const made = revisionOf("a", revision);
    return { ...made, metadata: { ...made.metadata, name, creationTimestamp } };
  };
  const sorted = sortRevisions([make(2, "1", "d"), make(1, "2", "c"), make(1, "1", "b"), make(1, "1", "a")]);
  expect(sorted.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c", "d"]);
});

test.each([
  [2, ["r1", "r2"]],
  [1, ["r1", "r2", "r3"]],
  [0, ["r1", "r2", "r3", "r4"]],
  [10, []],
  [-1, []],
])("keeps %d unused revisions", (limit, expected) => {
  const set = makeSet();
  if (set.spec) set.spec.revisionHistoryLimit = limit;
  const sorted = [1, 2, 3, 4, 5, 6].map((number) => {
    const made = revisionOf("a", number);
    return { ...made, metadata: { ...made.metadata, name: `r${number}` } };
  });
  const pods = [makePod(set, "0 r5 ready")];
  const forgotten = revisionsToForget(set, sorted, { pods, names: ["r6"] });
  expect(forgotten.map(({ metadata }) => metadata.name)).toEqual(expected);
});

function makeHashed() {
  const set = makeSet();
  const containers = [{ name: "c", image: "web:2", args: ["a<b && c>d"] }];
  if (set.spec) set.spec.template.spec = { containers };
  return set;
}

test("serializes as Go does: sorted keys, HTML characters escaped", () => {
  expect(templateText(makeHashed())).toBe(
    String.raw`{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"args":["a\u003cb \u0026\u0026 c\u003ed"],"image":"web:2","name":"c"}]}}}}`,
  );
});

// Computed from the text above by another implementation of upstream's hash.
test.each([
  [0, "web-5f779bdc76"],
  [1, "web-5f779bdc77"],
])("names the revision after %d collisions %s", (collisionCount, name) => {
  expect(newRevision(makeHashed(), { revision: 4, collisionCount })).toMatchObject({
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name,
      namespace: "default",
      labels: { app: "web", "controller.kubernetes.io/hash": name.slice(4) },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "set", controller: true },
      ],
    },
    revision: 4,
  });
});

test("restores the template and is equal after a round trip through the API", () => {
  const set = makeHashed();
  const revision = newRevision(set, { revision: 1, collisionCount: 0 });
  expect(templateOf(revision)).toEqual(set.spec?.template);
  expect(revisionText(structuredClone(revision))).toBe(templateText(set));
});

test("copies the annotations of the set except the update record", () => {
  const set = makeSet({ annotations: { own: "x", [updateRecordAnnotation]: "{}" } });
  expect(newRevision(set, { revision: 1, collisionCount: 0 }).metadata.annotations).toEqual({ own: "x" });
});

test("truncates a long name", () => {
  const set = makeSet();
  set.metadata.name = "x".repeat(253);
  expect(newRevision(set, { revision: 1, collisionCount: 0 }).metadata.name).toMatch(/^x{223}-\w+$/);
});

test("returns an empty template for data of another kind", () => {
  const revision = newRevision(makeSet(), { revision: 1, collisionCount: 0 });
  expect(templateOf({ ...revision, data: undefined })).toEqual({});
});
