import { expect, test } from "vitest";
import { fieldValue } from "../container/field-value.ts";
import { makePod } from "../container/make-pod.fixture.ts";
import { quoteGo } from "../quote-go.ts";
import { downwardPayload } from "./downward-api.ts";

test.each([
  ["plain text", '"plain text"'],
  ['say "hi" \\ bye', '"say \\"hi\\" \\\\ bye"'],
  ["a\nb\tc\rd\u0007\b\f\v", '"a\\nb\\tc\\rd\\a\\b\\f\\v"'],
  ["\u0000\u007f", '"\\x00\\x7f"'],
  ["größe ✓ 漢 😀", '"größe ✓ 漢 😀"'],
  ["\u00a0\u200b\u{e0001}", '"\\u00a0\\u200b\\U000e0001"'],
  ["\ud800", '"\ufffd"'],
])("Go quotes %j", (text, quoted) => {
  expect(quoteGo(text)).toBe(quoted);
});

const pod = makePod(
  {
    containers: [
      { name: "c", image: "i", resources: { limits: { cpu: "250m" }, requests: { memory: "1Gi" } } },
    ],
  },
  { labels: { zone: "b", app: 'we"b' }, annotations: { "example.com/note": "two\nlines" } },
);

test.each([
  ["metadata.name", "web"],
  ["metadata.namespace", "shop"],
  ["metadata.uid", "u-1"],
  ["metadata.labels", 'app="we\\"b"\nzone="b"'],
  ["metadata.annotations", 'example.com/note="two\\nlines"'],
  ["metadata.labels['zone']", "b"],
  ["metadata.labels['none']", ""],
  ["metadata.labels['constructor']", ""],
  ["metadata.annotations['example.com/note']", "two\nlines"],
])("the field %s", (fieldPath, value) => {
  expect(fieldValue(pod, fieldPath)).toBe(value);
});

test.each([
  ["spec.nodeName", "unsupported fieldPath: spec.nodeName"],
  ["metadata.name['x']", `fieldPath "metadata.name['x']" does not support subscript`],
  ["metadata.labels['a b']", "invalid key subscript in metadata.labels['a b']: name part must"],
])("the field %s is none", (fieldPath, problem) => {
  expect(() => fieldValue(pod, fieldPath)).toThrow(problem);
});

test("files of a downward API volume", () => {
  const items = [
    { path: "labels", fieldRef: { fieldPath: "metadata.labels['zone']" } },
    {
      path: "cpu",
      resourceFieldRef: { containerName: "c", resource: "limits.cpu", divisor: "1m" },
      mode: 0o400,
    },
    { path: "cores", resourceFieldRef: { containerName: "c", resource: "limits.cpu" } },
    { path: "memory", resourceFieldRef: { containerName: "c", resource: "limits.memory", divisor: "1Mi" } },
    { path: "asked", resourceFieldRef: { containerName: "c", resource: "requests.memory", divisor: "1Mi" } },
  ];
  const payload = downwardPayload(pod, { items, defaultMode: 0o640 }, { memory: "2Gi", cpu: "4" });
  expect([...payload].map(([path, { data, mode }]) => [path, data.toString(), mode])).toEqual([
    ["labels", "b", 0o640],
    ["cpu", "250", 0o400],
    ["cores", "1", 0o640],
    ["memory", "2048", 0o640],
    ["asked", "1024", 0o640],
  ]);
});

test("every item that fails is named", () => {
  const items = [
    { path: "a", fieldRef: { fieldPath: "status.podIP" } },
    { path: "b", resourceFieldRef: { containerName: "none", resource: "limits.cpu" } },
  ];
  expect(() => downwardPayload(pod, { items }, {})).toThrow(
    "[unsupported fieldPath: status.podIP, container none not found]",
  );
});
