import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compile, evaluate } from "../../../src/api/cel/compile.ts";
import { baseEnvironment } from "../../../src/api/cel/environment-base.ts";
import { estimateCost } from "../../../src/api/cel/estimate.ts";
import { fromJson } from "../../../src/api/cel/json-value.ts";
import { dynType } from "../../../src/api/cel/type.ts";
import { rounds, seed } from "../../support/fuzz/rounds.ts";

const environment = { ...baseEnvironment, variables: new Map([["self", dynType]]) };

/** Compiles and runs an expression. The test fails if it throws or does not end. */
function survive(expression: string, self: unknown = null): string {
  const compiled = compile(expression, environment);
  if ("errors" in compiled) return compiled.errors;
  estimateCost(compiled.program, () => undefined);
  const result = evaluate(compiled.program, { self: fromJson(self) });
  return "error" in result ? result.error : "value";
}

const limit = "operation cancelled: actual cost limit exceeded";

describe("a hostile rule is rejected or ends at its limit", () => {
  const text = "a".repeat(200_000);
  const deep = { value: null as unknown };
  for (let i = 0; i < 20_000; i++) deep.value = [deep.value];

  test.each<readonly [name: string, expression: string, self: unknown, result: RegExp]>([
    ["deep brackets", `${"(".repeat(40_000)}1${")".repeat(40_000)}`, null, /recursion limit exceeded/],
    ["deep lists", `${"[".repeat(40_000)}${"]".repeat(40_000)}`, null, /recursion limit exceeded/],
    ["deep selections", `self${".a".repeat(40_000)}`, null, /recursion limit exceeded/],
    ["deep negations", `${"!".repeat(90_000)}true`, null, /value/],
    ["long sums", Array(20_000).fill("1").join("+"), null, /recursion limit exceeded/],
    ["long chains", Array(12_000).fill("[]==[]").join("&&"), null, /value/],
    ["a giant literal", `'${"x".repeat(150_000)}' == ''`, null, /size exceeds limit/],
    ["a long literal", `'${"x".repeat(90_000)}' == ''`, null, /value/],
    ["a giant number", `${"9".repeat(50_000)} == 1`, null, /invalid int literal/],
    [
      "nested loops",
      "self.all(a, self.all(b, self.all(c, self.all(d, true))))",
      Array(1_000).fill(1),
      new RegExp(limit),
    ],
    [
      "doubled strings",
      `[self]${".map(s, s + s)".repeat(60)}.size() > 0`,
      [text.slice(0, 100)][0],
      new RegExp(limit),
    ],
    ["doubled lists", `[self]${".map(l, l + l)".repeat(60)}.size() > 0`, [1, 2, 3], new RegExp(limit)],
    ["nested copies", `[self]${".map(l, [l, l])".repeat(40)}.all(l, l == l)`, 1, new RegExp(limit)],
    [
      "exponential macros",
      `optional.of(1)${".optMap(x, x)".repeat(60)}.hasValue()`,
      null,
      /size exceeds limit after macro expansion/,
    ],
    ["a catastrophic pattern", "self.matches('^(a+)+$')", `${text.slice(0, 50_000)}b`, /value/],
    [
      "a large pattern",
      "self.matches('((a{1,100}){1,100}){1,10}')",
      text,
      /invalid matches argument|value|cost limit/,
    ],
    ["all matches", "self.findAll('').size() > 0", text, /value|cost limit/],
    ["a large replacement", "self.replace('', self).size() > 0", text, new RegExp(limit)],
    ["a large join", "lists.range(9000).map(i, self).join(self).size() > 0", text, new RegExp(limit)],
    ["a large range", "lists.range(9223372036854775807).size() > 0", null, new RegExp(limit)],
    ["a large format", "'%.999999999f'.format([1.0]) == ''", null, /precision/],
    [
      "quadratic distinct",
      "self.distinct().size() > 0",
      Array(5_000)
        .fill(0)
        .map((_, i) => i),
      new RegExp(limit),
    ],
    ["a long quantity", "isQuantity(self)", "9".repeat(100_000), /value/],
    ["a long version", "isSemver(self, true)", "1.".repeat(100_000), /value/],
    ["a long address", "isIP(self) || isCIDR(self) || isURL(self)", ":".repeat(100_000), /value/],
    ["spaces", "self.trim() == ''", " ".repeat(500_000), /value/],
    ["a deep object", "self == self", deep, new RegExp(limit)],
    ["prototype keys", "has(self.__proto__) || has(self.constructor) || 'toString' in self", {}, /value/],
  ])("%s", (_, expression, self, result) => {
    expect(survive(expression, self)).toMatch(result);
  });
});

/** Expressions of random parts, most of which are valid. */
const expressions = fc.letrec<{ expr: string }>((tie) => ({
  expr: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(
      "self",
      "1",
      "0",
      "-1",
      "2u",
      "1.5",
      "'a'",
      "''",
      "b'x'",
      "true",
      "null",
      "[]",
      "{}",
      "duration('1s')",
      "timestamp('2024-01-01T00:00:00Z')",
      "optional.none()",
      "quantity('1')",
      "9223372036854775807",
      "r'\\d'",
      "x",
    ),
    fc
      .tuple(tie("expr"), fc.constantFrom("+", "-", "*", "/", "%", "==", "<", "in", "&&", "||"), tie("expr"))
      .map((parts) => `(${parts.join(" ")})`),
    fc.tuple(tie("expr"), tie("expr"), tie("expr")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    fc
      .tuple(
        tie("expr"),
        fc.constantFrom("all", "exists", "map", "filter", "exists_one", "optMap", "sortBy"),
        tie("expr"),
      )
      .map(([range, macro, body]) => `${range}.${macro}(x, ${body})`),
    fc
      .tuple(
        tie("expr"),
        fc.constantFrom(
          "size",
          "sum",
          "min",
          "sort",
          "distinct",
          "flatten",
          "reverse",
          "trim",
          "value",
          "family",
          "getHours",
        ),
      )
      .map(([target, fn]) => `${target}.${fn}()`),
    fc
      .tuple(
        tie("expr"),
        fc.constantFrom(
          "matches",
          "contains",
          "split",
          "indexOf",
          "find",
          "join",
          "format",
          "replace",
          "substring",
          "orValue",
          "add",
        ),
        tie("expr"),
      )
      .map(([target, fn, arg]) => `${target}.${fn}(${arg})`),
    fc
      .tuple(
        fc.constantFrom(
          "int",
          "uint",
          "double",
          "string",
          "bytes",
          "bool",
          "duration",
          "timestamp",
          "dyn",
          "type",
          "size",
          "url",
          "ip",
          "cidr",
          "semver",
          "lists.range",
        ),
        tie("expr"),
      )
      .map(([fn, arg]) => `${fn}(${arg})`),
    fc.tuple(tie("expr"), tie("expr")).map(([target, index]) => `${target}[${index}]`),
    fc.tuple(tie("expr"), fc.constantFrom(".a", ".?a", "[?0]")).map((parts) => parts.join("")),
    tie("expr").map((operand) => `has(${operand}.a)`),
    fc.tuple(tie("expr"), tie("expr")).map(([a, b]) => `[${a}, ${b}, ?${a}]`),
    fc.tuple(tie("expr"), tie("expr")).map(([key, value]) => `{${key}: ${value}}`),
  ),
})).expr;

test("random expressions are compiled and run without a crash", () => {
  const objects = fc.jsonValue({ maxDepth: 3 });
  const property = fc.property(expressions, objects, (expression, self) => {
    expect(survive(expression, self)).toBeTypeOf("string");
    expect(survive(expression.replaceAll("self", "dyn(self)"), self)).toBeTypeOf("string");
  });
  fc.assert(property, { numRuns: rounds(300), seed });
});

test("random texts are compiled without a crash", () => {
  const parts = fc.constantFrom(
    ..."()[]{}.,:?!-+*/%<>=&|'\"\\`@#_ \n\t".split(""),
    "self",
    "in",
    "0x",
    "1e",
    "b'",
    'r"',
    "'''",
    "\\u",
    "😀",
    "\ud800",
    "//",
  );
  const property = fc.property(fc.array(parts, { maxLength: 40 }), (tokens) => {
    expect(survive(tokens.join(""))).toBeTypeOf("string");
  });
  fc.assert(property, { numRuns: rounds(500), seed });
});
