import { describe, expect, test } from "vitest";
import type { ControllerRevision, StatefulSet } from "../../api/objects.ts";
import { decideUpdateRevision, revisionsToForget, sortRevisions } from "./decide-revisions.ts";
import { newRevision } from "./revision-data.ts";
import { makePod, makeSet } from "./stateful-set.fixture.ts";

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
    ["is kept while the template stays", "b", { kind: "keep", revision: { revision: 2 } }],
    ["is an older one again, with a new number", "a", { kind: "renumber", revision: { revision: 1 }, to: 3 }],
    ["is new for a new template", "c", { kind: "create", revision: { revision: 3 } }],
  ])("%s", (_, image, expected) => {
    expect(decideUpdateRevision(withImage(image), known, 0)).toMatchObject(expected);
  });

  test("is the first one", () => {
    expect(decideUpdateRevision(withImage("a"), [], 0)).toMatchObject({
      kind: "create",
      revision: { revision: 1 },
    });
  });

  test("is not changed by defaults that an older server did not fill in", () => {
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

test("revisions are sorted by number, then time, then name", () => {
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
])("of revisions that nobody uses, %d are kept", (limit, expected) => {
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
