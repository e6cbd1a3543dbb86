import { expect, test } from "vitest";
import { newRevision, revisionText, templateOf, templateText } from "./revision-data.ts";
import { makeSet } from "./stateful-set.fixture.ts";

function makeHashed() {
  const set = makeSet();
  const containers = [{ name: "c", image: "web:2", args: ["a<b && c>d"] }];
  if (set.spec) set.spec.template.spec = { containers };
  return set;
}

test("is written as Go writes it: keys in order, what HTML would mind escaped", () => {
  expect(templateText(makeHashed())).toBe(
    String.raw`{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"args":["a\u003cb \u0026\u0026 c\u003ed"],"image":"web:2","name":"c"}]}}}}`,
  );
});

// Worked out from the text above by another implementation of upstream's hash.
test.each([
  [0, "web-5f779bdc76"],
  [1, "web-5f779bdc77"],
])("with %d collisions is named %s", (collisionCount, name) => {
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

test("gives back the template, and equals itself after a way through the API", () => {
  const set = makeHashed();
  const revision = newRevision(set, { revision: 1, collisionCount: 0 });
  expect(templateOf(revision)).toEqual(set.spec?.template);
  expect(revisionText(structuredClone(revision))).toBe(templateText(set));
});

test("a long name is cut", () => {
  const set = makeSet();
  set.metadata.name = "x".repeat(253);
  expect(newRevision(set, { revision: 1, collisionCount: 0 }).metadata.name).toMatch(/^x{223}-\w+$/);
});

test("data of another kind has an empty template", () => {
  const revision = newRevision(makeSet(), { revision: 1, collisionCount: 0 });
  expect(templateOf({ ...revision, data: undefined })).toEqual({});
});
