import fc from "fast-check";
import { expect, test } from "vitest";
import { createLogRenderer, parseLogOptions } from "./log-renderer.ts";

const log = [
  "2026-01-01T00:00:01.5Z stdout F one",
  "2026-01-01T00:00:02.123456789Z stderr F two",
  "2026-01-01T01:00:03+01:00 stdout P three, ",
  "2026-01-01T00:00:04Z stdout P and ",
  "2026-01-01T00:00:05Z stdout F four",
  "2026-01-01T00:00:06Z stdout F ",
  "2026-01-01T00:00:07Z stdout F:tag  five six",
  "",
].join("\n");

type Options = Parameters<typeof createLogRenderer>[0];
const base: Options = { timestamps: false, sinceMs: undefined, limitBytes: undefined, stream: "All" };
function renderAll(text: string | Buffer, options: Partial<Options> = {}): string {
  const renderer = createLogRenderer({ ...base, ...options });
  return Buffer.concat([renderer.push(Buffer.from(text)), renderer.end()]).toString();
}

test.each<[string, Partial<Options>, string]>([
  ["all lines", {}, "one\ntwo\nthree, and four\n\n five six\n"],
  [
    "times, with all their digits, once a line",
    { timestamps: true },
    "2026-01-01T00:00:01.500000000Z one\n2026-01-01T00:00:02.123456789Z two\n" +
      "2026-01-01T01:00:03.000000000+01:00 three, and four\n" +
      "2026-01-01T00:00:06.000000000Z \n2026-01-01T00:00:07.000000000Z  five six\n",
  ],
  ["one stream", { stream: "Stderr" }, "two\n"],
  ["since", { sinceMs: Date.parse("2026-01-01T00:00:05Z") }, "four\n\n five six\n"],
  ["a limited number of bytes", { limitBytes: 6 }, "one\ntw"],
  ["a limited number of lines", { maxLines: 3 }, "one\ntwo\nthree, "],
  ["no lines", { maxLines: 0 }, ""],
])("renders %s", (_, options, text) => {
  expect(renderAll(log, options)).toBe(text);
});

test("skips malformed lines and renders a last line without a newline", () => {
  expect(renderAll("nonsense\n2026-01-01T00:00:01Z stdin F x\n2026-01-01T00:00:01Z stdout F ok")).toBe("ok");
});

test("skips a line that is too long without buffering it", () => {
  const renderer = createLogRenderer(base);
  for (let i = 0; i < 40; i++) expect(renderer.push(Buffer.alloc(64 * 1_024, 120)).length).toBe(0);
  expect(renderer.push(Buffer.from("\n2026-01-01T00:00:01Z stdout F ok\n")).toString()).toBe("ok\n");
});

test("renders the same text for any split of the input", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: log.length }), { maxLength: 20 }),
      fc.boolean(),
      (cuts, timestamps) => {
        const renderer = createLogRenderer({ ...base, timestamps });
        const places = [0, ...cuts.sort((a, b) => a - b), log.length];
        const parts = places.map((at, i) => renderer.push(Buffer.from(log.slice(places[i - 1] ?? 0, at))));
        return Buffer.concat(parts).toString() === renderAll(log, { timestamps });
      },
    ),
  );
});

const now = Date.parse("2026-01-01T00:00:10Z");
const parse = (query: string) => parseLogOptions(new URLSearchParams(query), now);
const plain = {
  follow: false,
  previous: false,
  timestamps: false,
  sinceMs: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stream: "All",
};

test.each([
  ["", plain],
  ["follow=true&previous=1&timestamps", { ...plain, follow: true, previous: true, timestamps: true }],
  ["follow=false&timestamps=0", plain],
  ["tailLines=0&limitBytes=1", { ...plain, tailLines: 0, limitBytes: 1 }],
  ["tail=5", { ...plain, tailLines: 5 }],
  ["tail=all&tailLines=5", plain],
  ["sinceSeconds=4", { ...plain, sinceMs: now - 4_000 }],
  ["sinceTime=2026-01-01T01:00:00%2B01:00", { ...plain, sinceMs: now - 10_000 }],
  ["stream=Stderr", { ...plain, stream: "Stderr" }],
])("parses %j", (query, options) => {
  expect(parse(query)).toEqual(options);
});

test.each([
  ["tailLines=x", 400, "Unable to decode query."],
  ["tailLines=99999999999999999999", 400, "Unable to decode query."],
  ["sinceTime=yesterday", 400, "Unable to decode query."],
  ["tailLines=-1", 422, "Invalid request."],
  ["limitBytes=0", 422, "Invalid request."],
  ["sinceSeconds=0", 422, "Invalid request."],
  ["sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422, "Invalid request."],
  ["stream=stdout", 422, "Invalid request."],
  ["stream=Stdout&tailLines=1", 422, "Invalid request."],
])("rejects %s with %i", (query, code, message) => {
  expect(() => parse(query)).toThrow(expect.objectContaining({ code, message: `{"message": "${message}"}` }));
});
