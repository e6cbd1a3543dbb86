import { expect, test } from "vitest";
import { describeObjective } from "./objective.ts";
import { parseObjectives } from "./parse-objectives.ts";

const parse = (text: string) => parseObjectives(text, { file: "slos.yaml", chosen: ["team"] });
/** A valid objective with these fields replaced. */
const one = (given: object) => {
  const right = { name: "a", kind: "latency", measure: "start", threshold: "10s", target: "99%" };
  return JSON.stringify({ objectives: [{ ...right, ...given }] });
};

test("3085-13: parses a latency and a success-rate objective", () => {
  const objectives = parse(`
objectives:
  - name: sandboxes
    kind: latency
    measure: first-sandbox
    threshold: 10s
    target: 99.9%
    window: 7d
    selector:
      namespaces: [shop, bank]
      storageClasses: [fast]
      chosen: { team: db }
  - name: starts
    kind: success
    deadline: 5m
    target: 0.95
`);
  expect(objectives).toEqual([
    {
      name: "sandboxes",
      kind: "latency",
      measure: "first-sandbox",
      thresholdMs: 10_000,
      target: 0.999,
      windowMs: 604_800_000,
      selector: { namespaces: ["shop", "bank"], storageClasses: ["fast"], chosen: { team: "db" } },
    },
    {
      name: "starts",
      kind: "success",
      measure: "start",
      deadlineMs: 300_000,
      target: 0.95,
      windowMs: 28 * 86_400_000,
      selector: {},
    },
  ]);
  expect(objectives.map(describeObjective)).toEqual([
    "99.9% of first sandboxes within 10s, over 7d, in namespace shop or bank, with StorageClass fast, with team=db",
    "95% of starts succeed within 5m, over 28d",
  ]);
});

test("accepts a file without objectives", () => {
  expect(parse("")).toEqual([]);
  expect(parse("objectives:")).toEqual([]);
});

test.each([
  [
    one({ name: "a b" }),
    'objectives[0].name: "a b" is not a valid name; use at most 63 letters, digits, -, _ and .',
  ],
  [one({ kind: "speed" }), 'objectives[0].kind: "speed" is not a kind of objective; use latency or success'],
  [
    one({ target: 99 }),
    "objectives[0].target: 99 is not a valid share; use a value above 0 and below 1, such as 99% or 0.99",
  ],
  [one({ target: "100%" }), 'objectives[0].target: "100%" is not a valid share'],
  [one({ threshold: 10 }), "objectives[0].threshold: 10 is not a duration; use for example 10s"],
  [one({ threshold: undefined }), "objectives[0].threshold: undefined is not a duration"],
  [
    one({ measure: "speed" }),
    'objectives[0].measure: "speed" is not supported; use one of start, first-sandbox',
  ],
  [one({ window: "1s" }), 'objectives[0].window: "1s" is not between 1m and 366d'],
  [one({ deadline: "1m" }), 'objectives[0] has no field "deadline"; known fields: name, kind'],
  [one({ kind: "success", threshold: undefined }), "objectives[0].deadline: undefined is not a duration"],
  [
    one({ kind: "success", threshold: undefined, deadline: "1m", measure: "pull" }),
    'objectives[0].measure: "pull" is not supported; use one of start, first-sandbox',
  ],
  [one({ selector: { namespace: "a" } }), 'objectives[0].selector has no field "namespace"'],
  [one({ selector: { namespaces: "a" } }), "objectives[0].selector.namespaces must be a list of names"],
  [
    one({ selector: { chosen: { app: "x" } } }),
    'objectives[0].selector.chosen["app"]: the monitor does not read this key; add it to chosenLabels or chosenAnnotations',
  ],
  [one({ selector: { chosen: { team: 1 } } }), 'objectives[0].selector.chosen["team"] must be a string'],
  ["objectives: {}", "objectives must be a list"],
  ["- a", "the file must be a mapping"],
  ["objectives: [a]", "objectives[0] must be a mapping"],
  ["objective: []", 'the file has no field "objective"; known fields: objectives'],
  [
    `{"objectives": ${JSON.stringify([...Array(101)].map(() => ({})))}}`,
    "objectives: the file has 101 objectives; the maximum is 100",
  ],
])("rejects %s: %s", (text, message) => {
  expect(() => parse(text)).toThrow(`slos.yaml: ${message}`);
});

test("rejects duplicate names", () => {
  const { objectives } = JSON.parse(one({}));
  expect(() => parse(JSON.stringify({ objectives: [...objectives, ...objectives] }))).toThrow(
    'objectives[1].name: "a" is already the name of objectives[0]',
  );
});
