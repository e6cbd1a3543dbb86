import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { rounds } from "../../../../test/support/fuzz/rounds.ts";
import { encode, toYaml, wantsPretty } from "./encode.ts";

describe("encode", () => {
  const value = { kind: "A", data: { on: "yes", long: "x ".repeat(60).trim() }, count: 1 };

  test("JSON", async () => {
    expect(await encode(value, { format: "json" })).toBe(`${JSON.stringify(value)}\n`);
    expect(await encode(value, { format: "json", pretty: true })).toBe(JSON.stringify(value, undefined, 2));
  });

  test("YAML has sorted keys, no folded lines, and quotes words that YAML 1.1 readers take for booleans", async () => {
    expect(await encode(value, { format: "yaml" })).toBe(
      `count: 1\ndata:\n  long: ${value.data.long}\n  "on": "yes"\nkind: A\n`,
    );
  });
});

test.each([
  [{ userAgent: "curl/8.5" }, true],
  [{ userAgent: "Mozilla/5.0 (X11)" }, true],
  [{ userAgent: "kubectl/v1.36.0" }, false],
  [{}, false],
  [{ pretty: "true" }, true],
  [{ pretty: "0", userAgent: "curl/8.5" }, false],
  [{ pretty: "nonsense", userAgent: "curl/8.5" }, false],
])("wantsPretty %j", (request, expected) => {
  expect(wantsPretty(request)).toBe(expected);
});

test("a pod in the usual field order", () => {
  const pod = {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name: "web", labels: {}, creationTimestamp: "2026-01-01T00:00:00Z", generation: 1 },
    spec: {
      containers: [
        { name: "main", image: "nginx:1", command: ["sh", "-c", "sleep 1"], args: [], tty: true },
        { name: "other", image: "i" },
      ],
      matrix: [[1, 2], []],
    },
    data: { on: "yes", script: "a\n  b\n", port: "80", address: "10.96.0.1", none: null, missing: undefined },
  };
  expect(toYaml(pod)).toBe(`apiVersion: v1
data:
  address: 10.96.0.1
  none: null
  "on": "yes"
  port: "80"
  script: |
    a
      b
kind: Pod
metadata:
  creationTimestamp: "2026-01-01T00:00:00Z"
  generation: 1
  labels: {}
  name: web
spec:
  containers:
  - args: []
    command:
    - sh
    - "-c"
    - sleep 1
    image: nginx:1
    name: main
    tty: true
  - image: i
    name: other
  matrix:
  - - 1
    - 2
  - []
`);
});

describe("written documents are read back unchanged", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }).map((value) => Buffer.from(value).toString()),
    fc.string({
      unit: fc.constantFrom(
        "a",
        "\n",
        " ",
        ":",
        "-",
        "#",
        "\t",
        "1",
        ".",
        '"',
        "'",
        "|",
        "\r",
        "é",
        "\u2028",
      ),
    }),
    fc.constantFrom(
      "~",
      "0x1f",
      "0o17",
      "1e3",
      ".inf",
      "1_000",
      "12:30:45",
      "2026-01-01",
      "=",
      "<<",
      "null",
      "No",
      "y",
      "a: b",
      "a #b",
    ),
    fc.constantFrom(
      "a\n",
      "a\n\n",
      "a\nb",
      "a\n\n\nb\n\n\n",
      "a \n b",
      "\ta\n",
      "a:\n- b\n",
      "---\na",
      "a\n---\n",
      "a\n...\n",
    ),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      fc.constantFrom(null, true, false),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));

  test.each(["1.1", "1.2"] as const)("by YAML %s", (version) => {
    fc.assert(
      fc.property(value, (written) => {
        expect(parse(toYaml(written), { version, merge: false })).toEqual(written);
      }),
      { seed: 7, numRuns: rounds(200) },
    );
  });
});
