import { describe, expect, test } from "vitest";
import { configMapKind } from "../../../api/kinds/core/config-map/kind.ts";
import { createManualClock } from "../../../lib/manual-clock.ts";
import type { Frame } from "../../request/api-request.ts";
import { CachedObject, cachedKind, encodeStored } from "../../storage/cached-object.ts";
import type { Representation } from "./negotiate.ts";
import { createWatchEncoders } from "./watch-encoder.ts";

const kind = cachedKind(configMapKind.resource);

function configMap(name: string, text = ""): CachedObject {
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data: { text } };
  return new CachedObject(kind, { key: name, value: Buffer.from(encodeStored(object)), revision: 7 });
}

const parse = (frame: Frame) => JSON.parse(Buffer.concat([...frame]).toString());

function present(as: Representation["as"], clock = createManualClock(1_000_000)) {
  const encoderFor = createWatchEncoders(clock);
  const representation: Representation = { format: "json", as, metaVersion: "v1", pretty: false };
  return () => encoderFor(configMapKind, { representation, includeObject: "Metadata" });
}

describe.each(["object", "partialObjectMetadata", "table"] as const)("two watches that want %s", (as) => {
  test.each(["added", "modified"] as const)("share the bytes of an event: %s", (type) => {
    const open = present(as);
    const [one, other] = [open(), open()];
    // Only the first table of a watch has columns.
    for (const watch of [one, other]) watch.added(configMap("first"));
    const object = configMap("a");
    expect(one[type](object)).toBe(other[type](object));
    expect(parse(one[type](object)).type).toBe(type.toUpperCase());
  });

  test("share the bytes of a deletion, at its revision", () => {
    const open = present(as);
    const [one, other] = [open(), open()];
    for (const watch of [one, other]) watch.added(configMap("first"));
    const object = configMap("a");
    const frame = one.deleted(object, 9);
    expect(other.deleted(object, 9)).toBe(frame);
    expect(Buffer.concat([...frame]).toString()).toContain('"resourceVersion":"9"');
  });
});

test("events contain a long object by reference", () => {
  const object = configMap("a", "x".repeat(100_000));
  const watch = present("object")();
  expect(watch.added(object)).toContain(object.encoded());
  expect(watch.modified(object)).toContain(object.encoded());
  expect(parse(watch.added(object))).toEqual({ type: "ADDED", object: object.parse() });
});

test("only the first table of each watch has columns", () => {
  const open = present("table");
  for (const watch of [open(), open()]) {
    expect(parse(watch.added(configMap("a"))).object.columnDefinitions).not.toBeNull();
    expect(parse(watch.added(configMap("b"))).object.columnDefinitions).toBeNull();
  }
});

test("a table that is encoded a second later has the new age", async () => {
  const clock = createManualClock(1_000_000);
  const watch = present("table", clock)();
  const object = configMap("a");
  watch.added(object);
  const frame = watch.added(object);
  await clock.advance(1_000);
  expect(watch.added(object)).not.toBe(frame);
});
