import { describe, expect, test } from "vitest";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import { keepSpec, parseButSpec, unparsedSpec, withoutSpec } from "../../api/meta/lazy-spec.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import { encodeStored, headLength } from "./cached-object.ts";

interface Sample extends KubeObject {
  spec?: { text: string; list?: number[] } | string;
  status?: { phase: string };
  data?: Record<string, string>;
}

const head = headLength(podKind.resource);
const pod: Sample = {
  status: { phase: 'a "phase"' },
  spec: { text: 'with "quotes", {braces} and \\', list: [1, 2] },
  metadata: { name: "a", annotations: { spec: '{"spec":{}}' }, resourceVersion: "7" },
  apiVersion: "v1",
  kind: "Pod",
};
const stored = encodeStored(pod);
const parse = (text = stored) => parseButSpec(text, head - 1) as Sample;

describe("an object for the store", () => {
  test("has its fields in one order, and no resourceVersion", () => {
    expect(Object.keys(JSON.parse(stored))).toEqual(["kind", "apiVersion", "metadata", "spec", "status"]);
    expect(JSON.parse(stored).metadata).toEqual({ name: "a", annotations: { spec: '{"spec":{}}' } });
    expect(stored.startsWith('{"kind":"Pod","apiVersion":"v1","metadata":{')).toBe(true);
  });

  test("that is unchanged is written byte for byte without parsing its spec", () => {
    const object = parse();
    expect(encodeStored(object)).toBe(stored);
    expect(unparsedSpec(object)).toBe(JSON.stringify(pod.spec));
  });

  test.each<{ name: string; object: Sample }>([
    { name: "no spec", object: { ...pod, spec: undefined } },
    { name: "nothing but a spec", object: { ...pod, status: undefined } },
    { name: "neither", object: { kind: "Pod", apiVersion: "v1", metadata: { name: "a" }, data: { a: "b" } } },
    { name: "a spec that is no object", object: { ...pod, spec: "text" } },
  ])("with $name comes back", ({ object }) => {
    const text = encodeStored(object);
    expect(JSON.parse(text)).toEqual(
      JSON.parse(JSON.stringify({ ...object, metadata: JSON.parse(text).metadata })),
    );
    expect(encodeStored(parse(text))).toBe(text);
    expect({ ...parse(text) }).toEqual(JSON.parse(text));
  });

  test("may have its spec at any position if another program wrote it", () => {
    const text = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"status":{},"spec":{"a":1}}';
    expect(parse(text)).toEqual(JSON.parse(text));
    expect(encodeStored(parse(text))).toBe(
      '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"a":1},"status":{}}',
    );
  });
});

describe("a spec that is not parsed yet", () => {
  test("is parsed on access, and changes to it are stored", () => {
    const object = parse();
    expect(object.spec).toEqual(pod.spec);
    expect(unparsedSpec(object)).toBeUndefined();
    Object.assign(object.spec as object, { text: "changed" });
    expect(JSON.parse(encodeStored(object)).spec).toEqual({ text: "changed", list: [1, 2] });
  });

  test("can be replaced and deleted", () => {
    const object = parse();
    object.spec = { text: "new" };
    expect(JSON.parse(encodeStored(object)).spec).toEqual({ text: "new" });
    const other = parse();
    delete other.spec;
    expect(JSON.parse(encodeStored(other))).not.toHaveProperty("spec");
  });

  test("is seen by copies and by JSON", () => {
    expect(structuredClone(parse())).toEqual(JSON.parse(stored));
    expect({ ...parse() }).toEqual(JSON.parse(stored));
    expect(JSON.parse(JSON.stringify(parse()))).toEqual(JSON.parse(stored));
  });

  test("is copied to another object and replaces its value", () => {
    const current = parse();
    const next: Sample = {
      ...withoutSpec(current),
      spec: "what the patch said",
      status: { phase: "Running" },
    };
    keepSpec(next, current);
    expect(encodeStored(next)).toBe(stored.replace('a \\"phase\\"', "Running"));
    expect(unparsedSpec(current)).toBeDefined();
    expect(next.spec).toBe(current.spec);
  });

  test("a parsed value is copied too, and so is a missing one", () => {
    const next: Sample = { ...pod, spec: "other" };
    keepSpec(next, pod);
    expect(next.spec).toBe(pod.spec);
    keepSpec(next, { kind: "Pod", apiVersion: "v1", metadata: {} });
    expect(next).not.toHaveProperty("spec");
  });
});
