import fc from "fast-check";

/** Values that have broken parsers before. */
export const nastyText = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "/",
    "..",
    "%",
    "\u0000",
    "\u2028",
    "ä",
    "😀",
    "\ud800",
    "!",
    "(",
    ")",
    "in (",
    "a=b,c",
  ),
  fc.constantFrom("__proto__", "constructor", "toString", "null", "-1", "1e999", "9223372036854775808"),
  fc.constantFrom("x".repeat(254), "x".repeat(5_000), "9".repeat(30)),
  fc.string({ unit: "binary", maxLength: 20 }),
);

export const nastyNumber = fc.constantFrom(
  ...[0, -0, -1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e21, 1e308, 5e-324, Number.MAX_SAFE_INTEGER],
);

export const nastyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: nastyText },
  { weight: 3, arbitrary: nastyNumber },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      ...[
        null,
        true,
        false,
        [],
        {},
        [null],
        [[]],
        [{}],
        { "": {} },
        { $patch: "delete" },
        { $patch: "nope" },
      ],
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

/** For a URL, where half a surrogate pair cannot be. */
export function encodeText(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

/** A copy with the value at some place of it, or one key less, or `__proto__` as a key. */
export function mutate(sample: object, at: number, value: unknown): unknown {
  const copy = structuredClone(sample);
  const places: [Record<string, unknown>, string][] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    for (const key of Object.keys(node)) {
      places.push([node as Record<string, unknown>, key]);
      visit((node as Record<string, unknown>)[key]);
    }
  };
  visit(copy);
  const place = places[at % places.length];
  if (!place) return value;
  const [node, key] = place;
  if (at % 7 === 0) Object.defineProperty(node, "__proto__", { value, enumerable: true, configurable: true });
  else if (at % 11 === 0) delete node[key];
  else node[key] = value;
  return copy;
}
