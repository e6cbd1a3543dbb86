import type { CustomResourceDefinition } from "../../src/api/custom/custom-resource-definition.ts";
import type { OpenApiSchema, ValidationRule } from "../../src/api/custom/open-api-schema.ts";
import { compileRules } from "../../src/api/custom/rules/compile-rules.ts";
import { declareType } from "../../src/api/custom/rules/declared-type.ts";
import { definitionsPath } from "../apiserver/custom-resources/crontab.fixture.ts";
import { patch, type Request, send } from "./request.ts";

const text = (maxLength: number): OpenApiSchema => ({ type: "string", maxLength });

/** Fields of all types that rules can use. */
const fields: Readonly<Record<string, OpenApiSchema>> = {
  s: text(1000),
  t: text(1000),
  e: { type: "string", enum: ["a", "bb"] },
  n: { type: "integer" },
  x: { type: "number" },
  ok: { type: "boolean" },
  list: { type: "array", maxItems: 500, items: text(100) },
  ints: { type: "array", maxItems: 800, items: { type: "integer" } },
  map: { type: "object", maxProperties: 300, additionalProperties: text(50) },
  set: { type: "array", maxItems: 100, "x-kubernetes-list-type": "set", items: text(20) },
  keyed: {
    type: "array",
    maxItems: 50,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: {
      type: "object",
      required: ["name"],
      properties: { name: text(10), value: { type: "integer" } },
    },
  },
  either: { "x-kubernetes-int-or-string": true, maxLength: 30 },
  wait: { type: "string", format: "duration" },
  time: { type: "string", format: "date-time" },
  day: { type: "string", format: "date" },
  data: { type: "string", format: "byte", maxLength: 400 },
  object: { type: "object", properties: { a: text(5), "b-c": { type: "integer" }, for: { type: "string" } } },
  none: { type: "string", nullable: true, maxLength: 10 },
};

function schemaWith(rules: readonly ValidationRule[], extra: Partial<OpenApiSchema> = {}): OpenApiSchema {
  return { type: "object", properties: fields, "x-kubernetes-validations": rules, ...extra };
}

function definition(spec: OpenApiSchema, plural = "others"): CustomResourceDefinition {
  const kind = plural === "others" ? "Other" : "Ruled";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.rules.example.com` },
    spec: {
      group: "rules.example.com",
      scope: "Namespaced",
      names: { plural, kind },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec,
                status: {
                  type: "object",
                  properties: { phase: { type: "string" } },
                  "x-kubernetes-validations": [
                    { rule: "!has(self.phase) || self.phase != 'bad'", message: "bad phase" },
                  ],
                },
              },
            },
          },
          subresources: { status: {} },
        },
      ],
    },
  } as CustomResourceDefinition;
}

const posted = (name: string, spec: OpenApiSchema): Request => ({
  ...send("POST", `${definitionsPath}?dryRun=All`, definition(spec)),
  name,
});

const invalidRules: readonly ValidationRule[] = [
  ...[
    "",
    "  ",
    "self.",
    "self.n ==",
    "self.n = 1",
    "self.n == 1 self",
    "self.missing == 1",
    "self.n + self.s == 1",
    "self.n",
    "self.list.all(x, x)",
    "self.list.all(1, true)",
    "self.map.foo(1)",
    "has(self)",
    "[1, 'a'].size() == 2",
    "self.s.matches('(')",
    "duration('x') == self.wait",
    "int('x') == 1",
    "size(self.n) == 1",
    "self.object.b__dash__d == 1",
    "self.n > 1.5 ? 1 : 'a'",
    "unknown == 1",
    "#",
    "self.s == 'a",
    "a.b.c",
    "self.list[0] == 1",
    "self.e in [1]",
    "self.keyed.exists(k, k.none == 1)",
    "optional.of(1)",
    "self.?n.orValue('a') == 'a'",
    "quantity(self.n).sign() == 1",
    "(",
    "f(",
    "[1, ",
    "{'a' 1}",
    "self.s.split(',').map(x, x.size() > )",
    "1 + + 1 == 2",
    "self.metadata.name == ''",
    "true ||",
    "self.s.find('(') == ''",
    "9223372036854775808 == 1",
    "oldSelf.s == self.s ? 1 : 2",
  ].map((rule) => ({ rule })),
  { rule: "true", message: " " },
  { rule: "true", message: "a\nb" },
  { rule: "true ||\nfalse" },
  { rule: "true", messageExpression: " " },
  { rule: "true", messageExpression: "self.n" },
  { rule: "true", messageExpression: "self.s +" },
  { rule: "true", messageExpression: "'s has ' + string(self.s.size()) + ' characters'" },
  { rule: "true", reason: "Nothing" },
  { rule: "true", fieldPath: ".missing" },
  { rule: "true", fieldPath: "s" },
  { rule: "true", fieldPath: " " },
  { rule: "true", fieldPath: ".map['a.b']" },
  { rule: "true", optionalOldSelf: true },
];

const oldInList: OpenApiSchema = {
  type: "object",
  properties: {
    list: {
      type: "array",
      maxItems: 10,
      items: {
        type: "object",
        properties: { a: text(5) },
        "x-kubernetes-validations": [{ rule: "oldSelf.a == self.a" }],
      },
    },
  },
};

/** Expressions whose estimated costs are compared. */
const costly = [
  "self.s == self.t",
  "self.s + self.t == 'a'",
  "self.s.contains(self.t)",
  "self.s.matches('^[a-z]+$')",
  "self.s.startsWith(self.t)",
  "self.list.all(x, x == 'a')",
  "self.list.exists(x, self.list.exists(y, x == y))",
  "self.list.map(x, x.size()).sum() > 1",
  "self.list.filter(x, x.startsWith('a')).size() > 1",
  "self.map.all(k, self.map[k] == k)",
  "self.map.all(k, v, v == k)",
  "self.map.exists(k, k in self.list)",
  "self.s in self.list",
  "self.s in self.map",
  "self.ints.sum() > 1 && self.ints.max() > self.ints.min()",
  "self.ints.isSorted() && self.list.isSorted()",
  "self.list.indexOf('a') > 0 || self.s.indexOf('a') > 0",
  "self.list.join(',').size() > 1",
  "self.s.replace('a', 'bb').size() > 1",
  "self.s.split(',').all(p, p.lowerAscii() == p)",
  "self.s.substring(1).trim().upperAscii() == 'A'",
  "self.s.find('[0-9]+') == '1' && self.s.findAll('[0-9]').size() > 1",
  "url(self.s).getHost() == 'a' && isURL(self.t)",
  "quantity(self.s).isGreaterThan(quantity(self.t))",
  "ip(self.s) == ip(self.t) && cidr(self.s).containsIP(self.t)",
  "cidr(self.s).containsCIDR(cidr(self.t)) && ip.isCanonical(self.s)",
  "semver(self.s).isLessThan(semver(self.t))",
  "format.dns1123Label().validate(self.s).hasValue()",
  "sets.contains(self.list, self.set) && sets.equivalent(self.ints, [1, 2])",
  "self.keyed.all(k, k.value > 1 && k.name != 'a')",
  "self.keyed.map(k, k.name).distinct().size() == 1",
  "self.list.sort()[0] == 'a' && self.ints.reverse()[0] == 1",
  "self.keyed.sortBy(k, k.value)[0].name == 'a'",
  "[self.list, self.list].flatten().size() > 1",
  "self.list.slice(1, 3).size() == 2",
  "lists.range(10).all(i, i < 10)",
  "self.list.transformList(i, v, v + 'a').all(x, x != 'b')",
  "self.map.transformMap(k, v, v + 'a').all(k, k != 'b')",
  "has(self.object.a) ? self.object.a == self.s : self.s == self.t",
  "self.?object.a.orValue('x') == self.s",
  "self.?object.optMap(o, o.a + self.s).orValue('b') == 'a'",
  "self.either == 1 || self.either == self.s",
  "type(self.either) == string ? self.either.contains(self.s) : self.either > 1",
  "dyn(self.s) == self.t",
  "string(self.data) == self.s && self.data == bytes(self.s)",
  "self.time > timestamp('2020-01-01T00:00:00Z') + self.wait && self.day < self.time",
  "'%s-%d'.format([self.s, self.n]) == self.t",
  "[self.s, self.t].exists(x, x in self.set)",
  "{'a': self.s, 'b': self.t}.all(k, k != self.s)",
  "self.list == self.list && self.map == self.map && self.object == self.object",
  "self.list + self.list == self.list",
  "(self.ok ? self.list : self.set).all(x, x != self.s)",
  "self.list[0] == self.map['a'] && self.keyed[0].name == self.s",
  "self.list.map(x, x + x).map(x, x + x).all(x, x.size() < 5)",
  "self.list.all(x, self.list.all(y, self.list.all(z, x + y == z)))",
  "self.e == 'a' || self.n > 1 || self.x < 1.0",
  "strings.quote(self.s) == self.t",
  "self.none == null || self.none == 'a'",
];

/** Definition in which the rule can be run so often that its cost exceeds the budget by a little. */
function costRequest(rule: string): Request {
  const item = schemaWith([{ rule }]);
  const declared = declareType(item, "selfType", false);
  const cost = Number(declared ? (compileRules(item, declared)[0]?.maxCost ?? 0n) : 0n);
  const maxItems = Math.max(1, Math.ceil(12_000_000 / Math.max(1, cost)));
  const spec: OpenApiSchema = {
    type: "object",
    properties: { items: { type: "array", maxItems, items: item } },
  };
  return posted(`cost: ${rule}`, spec);
}

const unbounded = (rule: string): Request =>
  posted(`unbounded: ${rule}`, {
    type: "object",
    properties: {
      a: { type: "array", items: { type: "string" } },
      m: { type: "object", additionalProperties: { type: "string" } },
    },
    "x-kubernetes-validations": [{ rule }],
  });

const totalCost: OpenApiSchema = {
  type: "object",
  properties: Object.fromEntries(
    ["a", "b", "c"].map((name) => [
      name,
      {
        type: "array",
        maxItems: 90,
        items: {
          ...text(1000),
          "x-kubernetes-validations": [
            { rule: "self.matches('^[a-zA-Z0-9]{1,900}$') && self.contains('aaaaaaaaaaaaaaaaaaaa')" },
            { rule: "self == 'x'" },
          ],
        },
      },
    ]),
  ),
};

export const ruleDefinitions: Readonly<Record<string, readonly Request[]>> = {
  rules: invalidRules.map((rule) => posted(JSON.stringify(rule), schemaWith([rule]))),
  transitions: [posted("oldSelf in a list", oldInList)],
  defaults: ["b", "a"].map((value) =>
    posted(`default ${value}`, {
      type: "object",
      properties: {
        a: { ...text(5), default: value, "x-kubernetes-validations": [{ rule: "self != 'b'" }] },
        o: {
          type: "object",
          default: { x: 1 },
          properties: { x: { type: "integer" } },
          "x-kubernetes-validations": [
            { rule: "self.x == oldSelf.x" },
            { rule: `self.x == 1 || '${value}' == 'a'` },
          ],
        },
      },
    }),
  ),
  costs: costly.map(costRequest),
  budgets: [
    unbounded("self.a.all(x, x == 'a')"),
    unbounded("self.a.all(x, self.a.all(y, x == y))"),
    unbounded("self.m.all(k, self.m[k].matches('a+'))"),
    posted("the sum of all rules", totalCost),
  ],
};

/** Rules of the definition whose objects are compared. */
export const ruledDefinition = definition(
  schemaWith([
    { rule: "!has(self.n) || self.n < 10", message: "n must be small" },
    {
      rule: "!has(self.s) || self.s.size() < 5",
      messageExpression: "'s is ' + self.s",
    },
    { rule: "!has(self.t) || self.t != 'x'", messageExpression: "self.map['missing']", message: "fallback" },
    { rule: "!has(self.t) || self.t != 'y'", messageExpression: "' '" },
    {
      rule: "!has(self.ok) || self.ok",
      reason: "FieldValueForbidden",
      fieldPath: ".ok",
      message: "must be ok",
    },
    { rule: "!has(self.e) || self.e == 'a'", reason: "FieldValueRequired", fieldPath: ".e" },
    { rule: "!has(self.x) || self.x > 1.0", reason: "FieldValueDuplicate", fieldPath: ".x" },
    { rule: "!has(self.list) || self.list[0] == 'a'" },
    { rule: "!has(self.map) || self.map.a == 'b'" },
    { rule: "!has(self.either) || self.either < 5" },
    { rule: "!has(self.set) || self.set == ['a', 'b']" },
    { rule: "!has(self.object) || !has(self.object.b__dash__c) || self.object.b__dash__c == 1" },
    { rule: "!has(self.object) || !has(self.object.__for__) || self.object.__for__ == 'x'" },
    { rule: "!has(self.wait) || self.wait < duration('1h')" },
    { rule: "!has(self.time) || self.time.getFullYear() > 2000" },
    { rule: "!has(self.data) || string(self.data) == 'hello'" },
    { rule: "!has(self.ints) || self.ints.all(i, 10 / i > 1)" },
    { rule: "!has(self.n) || !has(oldSelf.n) || self.n >= oldSelf.n", message: "n must not shrink" },
    {
      rule: "!oldSelf.hasValue() || !has(self.day) || oldSelf.value().?day.orValue(self.day) == self.day",
      optionalOldSelf: true,
    },
  ]),
  "ruleds",
);
const keyed = fields.keyed as OpenApiSchema;
Object.assign(
  (ruledDefinition.spec.versions?.[0]?.schema?.openAPIV3Schema?.properties?.spec?.properties ?? {}) as object,
  {
    keyed: {
      ...keyed,
      items: {
        ...(keyed.items as OpenApiSchema),
        "x-kubernetes-validations": [
          { rule: "!has(self.value) || self.value < 100", message: "value too large" },
          { rule: "!has(self.value) || self.value == oldSelf.value", message: "value is immutable" },
        ],
      },
    },
    s: { ...text(1000), "x-kubernetes-validations": [{ rule: "self != 'bad'" }] },
  },
);

export const ruledPath = "/apis/rules.example.com/v1/namespaces/default/ruleds";

function ruled(spec: object, name = "x"): object {
  return { apiVersion: "rules.example.com/v1", kind: "Ruled", metadata: { name }, spec };
}

const specs: readonly object[] = [
  {},
  { n: 11 },
  { n: 11, s: "longer", t: "x" },
  { t: "y" },
  { s: "bad" },
  { ok: false },
  { e: "bb" },
  { x: 0.5 },
  { list: [] },
  { list: ["b"] },
  { map: {} },
  { map: { a: "b" } },
  { either: "a" },
  { either: 7 },
  { set: ["b", "a"] },
  { set: ["c"] },
  { object: { "b-c": 2 } },
  { object: { for: "y" } },
  { wait: "2h" },
  { time: "1999-01-01T00:00:00Z" },
  { data: "aGVsbG8=" },
  { data: "aGVsbA==" },
  { ints: [1, 0] },
  { ints: [1, 20] },
  { n: "a", s: "longer" },
  { keyed: [{ name: "a", value: 100 }] },
];

/** Run in this order after both servers have established `ruleds.rules.example.com`. */
export const ruleObjects: Readonly<Record<string, readonly Request[]>> = {
  creation: specs.map((spec) => ({
    ...send("POST", `${ruledPath}?dryRun=All`, ruled(spec)),
    name: JSON.stringify(spec),
  })),
  changes: [
    send("POST", ruledPath, ruled({ n: 5, day: "2024-01-01", keyed: [{ name: "a", value: 1 }] }, "a")),
    patch("merge", `${ruledPath}/a`, { spec: { n: 4 } }),
    patch("merge", `${ruledPath}/a`, { spec: { n: 6 } }),
    patch("merge", `${ruledPath}/a`, { spec: { day: "2024-01-02" } }),
    patch("merge", `${ruledPath}/a`, {
      spec: {
        keyed: [
          { name: "b", value: 3 },
          { name: "a", value: 2 },
        ],
      },
    }),
    patch("merge", `${ruledPath}/a`, {
      spec: {
        keyed: [
          { name: "b", value: 3 },
          { name: "a", value: 1 },
        ],
      },
    }),
    patch("merge", `${ruledPath}/a/status`, { status: { phase: "bad" } }),
    patch("merge", `${ruledPath}/a/status`, { status: { phase: "good" } }),
  ],
};
