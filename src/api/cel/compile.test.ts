import { describe, expect, test } from "vitest";
import { compile, evaluate } from "./compile.ts";
import { baseEnvironment } from "./environment-base.ts";
import { formatString } from "./library/format-string.ts";
import { dynType, formatType } from "./type.ts";
import { list, type Value } from "./values.ts";

/** Result of an expression without variables: the value as `%s` formats it, or the error. */
function run(expression: string): string {
  const compiled = compile(expression, baseEnvironment);
  if ("errors" in compiled) return `!${compiled.errors.split("\n")[0]?.replace(/^ERROR: <input>:/, "")}`;
  const result = evaluate(compiled.program, {});
  if ("error" in result) return `error: ${result.error}`;
  return formatString("%s", list([result.value as Value])) as string;
}

function costOf(expression: string): number {
  const compiled = compile(expression, baseEnvironment);
  if ("errors" in compiled) throw new Error(compiled.errors);
  return evaluate(compiled.program, {}).cost;
}

describe("evaluation", () => {
  const cases: readonly [expression: string, result: string][] = [
    ["1 + 2 * 3 - -4", "11"],
    ["7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1", "true"],
    ["9223372036854775807 + 1", "error: integer overflow"],
    ["0u - 1u", "error: unsigned integer overflow"],
    ["1 / 0", "error: division by zero"],
    ["1 % 0", "error: modulus by zero"],
    ["1.0 / 0.0", "+Inf"],
    ["1 < 2.5 && 2u > 1 && 1 <= 1u", "true"],
    ["dyn(1) == 1.0 && dyn(1u) == 1", "true"],
    ["'b' > 'a' && b'b' > b'a'", "true"],
    ["'\\U0001F600' > '\\uffff'", "true"],
    ["true ? 'yes' : 'no'", "yes"],
    ["1 / 0 == 1 || true", "true"],
    ["false && 1 / 0 == 1", "false"],
    ["[1, 2][1] + {'a': 3}.a + {'a': 3}['a']", "8"],
    ["[1, 2][2]", "error: index out of bounds: 2"],
    ["{'a': 1}.b", "error: no such key: b"],
    ["has({'a': 1}.a) && !has({'a': 1}.b)", "true"],
    ["2 in [1, 2] && 'a' in {'a': 1}", "true"],
    ["size('héllo') + size([1]) + {'a': 1}.size()", "7"],
    ["[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2].exists_one(x, x > 1)", "true"],
    ["[1, 2, 3].map(x, x > 1, x * 2)", "[4, 6]"],
    ["[1, 2, 3].filter(x, x != 2)", "[1, 3]"],
    ["{'a': 1, 'b': 2}.map(k, k)", '["a", "b"]'],
    ["[[1, 2], [3]].map(l, l.map(x, x + l[0]))", "[[2, 3], [6]]"],
    ["[5, 6].transformList(i, v, i + v)", "[5, 7]"],
    ["{'a': 1}.transformMap(k, v, v + 1)", '{"a":2}'],
    ["{'a': 1}.transformMapEntry(k, v, {v: k})", '{1:"a"}'],
    ["{'a': 1}.?a.orValue(2) + {'a': 1}.?b.orValue(2)", "3"],
    ["[1][?3].hasValue()", "false"],
    ["optional.of(1).optMap(x, x + 1).value()", "2"],
    ["{'a': {'b': 1}}.?a.?b.value() == 1", "true"],
    ["optional.none().value()", "error: optional.none() dereference"],
    ["[?optional.none(), 1]", "[1]"],
    ["type(1) == int && type('a') == string && type([]) == list && type(null) == null_type", "true"],
    ["int('12') + int(1.9) + int(3u)", "16"],
    ["double('1.5') + double(1)", "2.5"],
    ["string(1) + string(1.5) + string(true) + string(b'x') + string(1000000.0)", "11.5truex1e+06"],
    ["duration('1h30m').getMinutes() + int(duration('1ms')) / 1000000", "91"],
    ["string(duration('90.5s'))", "90.5s"],
    ["timestamp('2024-02-29T12:34:56.789Z').getMilliseconds()", "789"],
    ["timestamp('2024-03-01T00:30:00Z').getDate('America/New_York')", "29"],
    ["timestamp('2024-03-01T00:30:00Z').getHours('+05:30')", "6"],
    ["string(timestamp('2024-01-01T00:00:00Z') + duration('36h'))", "2024-01-02T12:00:00Z"],
    ["'abc'.matches('^a.c$') && 'abc'.startsWith('a') && 'abc'.contains('b')", "true"],
    ["'a-b-c'.split('-', 2) + ['x'].map(s, s.upperAscii())", '["a", "b-c", "X"]'],
    ["'hello'.substring(1, 3) + 'x'.charAt(0) + ' y '.trim() + ['a', 'b'].join('-')", "elxya-b"],
    ["'abcabc'.indexOf('c') + 'abcabc'.lastIndexOf('c') + 'abc'.indexOf('z')", "6"],
    ["'aaa'.replace('a', 'b', 2) + 'ab'.replace('', '-')", "bba-a-b-"],
    ["'%s %d %.2f %x %b'.format(['a', 1, 1.5, 255, true])", "a 1 1.50 ff 1"],
    ["'%s'.format([[1, 'a']])", '[1, "a"]'],
    ["'abc 123'.find('[0-9]+') + 'a1b2'.findAll('[0-9]').join('')", "12312"],
    ["[3, 1, 2].isSorted() || [1, 2].isSorted()", "true"],
    ["[1, 2].sum() + [3, 1].max() + [3, 1].min() + [1, 2].indexOf(2)", "8"],
    ["[].min()", "error: min called on empty list"],
    ["[3, 1, 2].sort() + [1, 1].distinct() + [1, 2].reverse() + lists.range(2)", "[1, 2, 3, 1, 2, 1, 0, 1]"],
    ["[{'a': 2}, {'a': 1}].sortBy(x, x.a).map(x, x.a)", "[1, 2]"],
    ["[[1], [2, 3]].flatten() + [1, 2, 3].slice(1, 2)", "[1, 2, 3, 2]"],
    ["sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])", "true"],
    ["quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('50k').asInteger() == 50000", "true"],
    ["quantity('1.5').add(1).asApproximateFloat()", "2.5"],
    [
      "quantity('x')",
      "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    ["url('https://user@example.com:80/a%20b?x=1&x=2').getHost()", "example.com:80"],
    ["url('https://[::1]:80/a').getHostname() + url('/p?q=1').getQuery().q[0]", "::11"],
    ["isURL('example.com')", "false"],
    ["ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && !isIP('1.2.3')", "true"],
    ["cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true"],
    ["string(cidr('10.1.2.3/8').masked()) + string(ip('2001:DB8::1'))", "10.0.0.0/82001:db8::1"],
    [
      "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && isSemver('v1.2', true) && !isSemver('v1.2')",
      "true",
    ],
    ["format.dns1123Label().validate('a_b').hasValue() && !format.named('nothing').hasValue()", "true"],
    ["strings.quote('a\"b')", '"a\\"b"'],
  ];

  test.each(cases)("%s", (expression, result) => {
    expect(run(expression)).toBe(result);
  });
});

describe("errors of compilation", () => {
  const cases: readonly [expression: string, issues: string][] = [
    ["a", "1:1: undeclared reference to 'a' (in container '')"],
    ["f(1)", "1:2: undeclared reference to 'f' (in container '')"],
    ["'a' + 1", "1:5: found no matching overload for '_+_' applied to '(string, int)'"],
    ["'a'.size(1)", "1:9: found no matching overload for 'size' applied to 'string.(int)'"],
    ["1 && true", "1:1: expected type 'bool' but found 'int'"],
    ["1.a", "1:2: type 'int' does not support field selection"],
    ["[1, 'a']", "1:5: expected type 'int' but found 'string'"],
    [
      "1.all(x, true)",
      "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ["has(a)", "1:5: invalid argument to has() macro"],
    ["[1].map(1, 2)", "1:9: argument is not an identifier"],
    ["[1].all(a.b, true)", "1:10: argument must be a simple name"],
    ["9223372036854775808", "1:1: invalid int literal"],
    ["for", "1:1: reserved identifier: for"],
    ["duration('x')", "1:10: invalid duration argument"],
    ["'a'.matches('(')", "1:13: invalid matches argument"],
    ["a b", "1:3: Syntax error: extraneous input 'b' expecting <EOF>"],
    ["'a", "1:1: Syntax error: token recognition error at: ''a'"],
  ];

  test.each(cases)("%s", (expression, issue) => {
    expect(run(expression)).toBe(`!${issue}`);
  });

  test("marks the position below the line", () => {
    const compiled = compile("true &&\n  'ä' + 1", baseEnvironment);
    const text =
      "ERROR: <input>:2:7: found no matching overload for '_+_' applied to '(string, int)'\n |   'ä' + 1\n | ...．..^";
    expect(compiled).toMatchObject({ errors: text });
  });

  test("reports a constant that cannot be converted", () => {
    expect(compile("int('a') == 1", baseEnvironment)).toEqual({
      errors: "type conversion error from 'string' to 'int'",
      kind: "instantiation",
    });
  });
});

test.each([
  ["[1, 2].map(x, x)", "list(int)"],
  ["{'a': [1.0]}", "map(string, list(double))"],
  ["optional.of('a')", "optional_type(string)"],
  ["[]", "list(dyn)"],
  ["dyn(1)", "dyn"],
  ["type(1)", "type(int)"],
])("the type of %s is %s", (expression, type) => {
  const compiled = compile(expression, baseEnvironment);
  expect("program" in compiled && formatType(compiled.program.type)).toBe(type);
});

test.each([
  ["true", 0],
  ["1 + 1 == 2", 2],
  ["'abc'.contains('b')", 1],
  ["'abcdefghijkl' == 'abcdefghijkl'", 2],
  ["[1, 2, 3]", 0],
  ["[1 + 1]", 11],
  ["1 in [1, 2]", 0],
  ["[1, 2].map(x, x)", 27],
  ["[1, 2].all(x, x > 0)", 11],
])("the cost of %s is %d", (expression, cost) => {
  expect(costOf(expression)).toBe(cost);
});

test("ends an evaluation at the cost limit", () => {
  const compiled = compile("[1, 2, 3].all(x, x > 0)", baseEnvironment);
  if ("errors" in compiled) throw new Error(compiled.errors);
  const message = "operation cancelled: actual cost limit exceeded";
  expect(evaluate(compiled.program, {}, 5)).toEqual({ error: message, cost: 6 });
});

test("a variable can be null", () => {
  const compiled = compile("x == null", { ...baseEnvironment, variables: new Map([["x", dynType]]) });
  if ("errors" in compiled) throw new Error(compiled.errors);
  expect(evaluate(compiled.program, { x: null })).toMatchObject({ value: true });
  expect(evaluate(compiled.program, {})).toMatchObject({ error: "no such attribute(s): x" });
});
