import { expect, test } from "vitest";
import { parseMonitorConfiguration } from "./monitor-configuration.ts";

const read = (text: string) => parseMonitorConfiguration(text, "monitor.yaml");

test("applies defaults to an empty file", () => {
  expect(read("")).toEqual({
    chosenLabels: [],
    chosenAnnotations: [],
    stuckAfterSeconds: 300,
    metrics: { valuesPerLabel: 100, classes: 200, podSeries: 0 },
    objectives: [],
    otlp: undefined,
  });
});

test("parses every field", () => {
  const { objectives, ...rest } = read(`
chosenLabels: [team]
chosenAnnotations: [example.com/tier]
stuckAfterSeconds: 60
metrics: { valuesPerLabel: 20, classes: 50, podSeries: 1000 }
objectives:
  - { name: quick, kind: latency, measure: first-sandbox, threshold: 10s, target: 0.99, selector: { runtimeClasses: [microvm] } }
otlp: { endpoint: "http://localhost:4318/v1/traces", headers: { authorization: "Bearer x" } }
`);
  expect(rest).toEqual({
    chosenLabels: ["team"],
    chosenAnnotations: ["example.com/tier"],
    stuckAfterSeconds: 60,
    metrics: { valuesPerLabel: 20, classes: 50, podSeries: 1_000 },
    otlp: { endpoint: "http://localhost:4318/v1/traces", headers: { authorization: "Bearer x" } },
  });
  expect(objectives).toMatchObject([{ name: "quick", kind: "latency" }]);
});

test.each([
  ["a: b: c", "monitor.yaml is not YAML"],
  ["[]", "the file: Invalid value: []: must be a mapping of fields"],
  ["stuckAfter: 5", "stuckAfter: Forbidden: unknown field; known fields: chosenLabels,"],
  ["stuckAfterSeconds: 0", "stuckAfterSeconds: Invalid value: 0: must be a whole number from 1 to 86400"],
  ["stuckAfterSeconds: 5m", 'stuckAfterSeconds: Invalid value: "5m"'],
  ["chosenLabels: team", 'chosenLabels: Invalid value: "team": must be a list of keys'],
  ["chosenLabels: [a, a]", 'chosenLabels[1]: Duplicate value: "a"'],
  ["chosenLabels: [a b]", 'chosenLabels[0]: Invalid value: "a b"'],
  ["chosenLabels: [1]", "chosenLabels[0]: Invalid value: 1: must be a string"],
  ["chosenLabels: [a,b,c,d,e,f,g,h,i,j,k]", "chosenLabels: Too many: 11: must have at most 10 items"],
  ["chosenLabels: [a]\nchosenAnnotations: [a]", 'chosenAnnotations[0]: Duplicate value: "a"'],
  ["metrics: 5", "metrics: Invalid value: 5: must be a mapping of fields"],
  ["metrics: {podSeries: yes}", 'metrics.podSeries: Invalid value: "yes"'],
  ["otlp: {}", "otlp.endpoint: Required value: the collector's address"],
  ["otlp: {endpoint: 'file:///etc/passwd'}", "otlp.endpoint: Invalid value"],
  ["otlp: {endpoint: 'http://c', headers: {a: 1}}", "otlp.headers[a]: Invalid value: 1: must be a string"],
  [
    'otlp: {endpoint: "http://c", headers: {a: "x\\ny"}}',
    'otlp.headers[a]: Invalid value: "x\\ny": cannot be sent',
  ],
  ["otlp: {endpoint: 'http://c', headers: {a b: x}}", "otlp.headers[a b]: Invalid value"],
  ["objectives: [{kind: fast}]", "monitor.yaml: objectives[0].kind"],
  ["objectives: 5", "objectives must be a list"],
])("rejects %s", (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test("reports all problems at once", () => {
  expect(() => read("stuckAfterSeconds: x\notlp: {}")).toThrow(/stuckAfterSeconds[\s\S]*otlp\.endpoint/);
});
