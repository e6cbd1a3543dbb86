import { expect, test } from "vitest";
import { createRuleBook, type Facts, type RuleMatch } from "./rules.ts";

const facts: Facts = { namespace: "shop", pod: "web-0", container: "main", image: "web:1", handler: "" };

test.each<[RuleMatch, boolean]>([
  [{}, true],
  [{ namespace: "shop" }, true],
  [{ namespace: "other" }, false],
  [{ pod: "web-*", container: "main" }, true],
  [{ pod: "web-*", container: "side" }, false],
  [{ image: "web:?" }, true],
  [{ handler: "" }, true],
  [{ handler: "gvisor" }, false],
])("%j: %j", (match, expected) => {
  const rules = createRuleBook([{ match, container: { startDelayMs: 5 } }]);
  expect(rules.scriptFor("container", facts)).toEqual(expected ? { startDelayMs: 5 } : {});
});

test("a rule for containers does not match their pod", () => {
  const rules = createRuleBook([{ match: { container: "*" }, sandbox: { delayMs: 5 } }]);
  expect(rules.scriptFor("sandbox", { namespace: "shop", pod: "web-0" })).toEqual({});
});

test.each([
  [{ volume: "data" }, "volume", { pod: "web-0", volume: "data" }, true],
  [{ volume: "data" }, "volume", { pod: "web-0", volume: "logs" }, false],
  [{ pod: "web-*" }, "volume", { pod: "web-0", volume: "logs" }, true],
  [{ probe: "readiness" }, "probe", { pod: "web-0", container: "c", probe: "readiness" }, true],
  [{ probe: "readiness" }, "probe", { pod: "web-0", container: "c", probe: "liveness" }, false],
] as const)("%j and a %s of %j: %j", (match, name, of, expected) => {
  const rules = createRuleBook([{ match, volume: { error: "no" }, probe: { failure: "no" } }]);
  expect(Object.values(rules.scriptFor(name, of))).toEqual(expected ? ["no"] : []);
});

test("newer rules take precedence over older ones and over annotations; removing a rule reverts it", () => {
  const rules = createRuleBook([{ container: { startDelayMs: 1, log: "old" } }]);
  const fault = rules.add({ container: { startDelayMs: 2 } });
  const base = { startDelayMs: 9, stopDelayMs: 9 };
  expect(rules.scriptFor("container", facts, base)).toEqual({ startDelayMs: 2, log: "old", stopDelayMs: 9 });
  rules.remove(fault);
  rules.remove(fault);
  expect(rules.scriptFor("container", facts, base)).toMatchObject({ startDelayMs: 1 });
});

test("a rule can override an annotation, and can be a function", () => {
  const rules = createRuleBook();
  rules.add({ container: { exit: undefined } });
  rules.add({ container: ({ attempt = 0 }) => (attempt > 1 ? { startDelayMs: attempt } : undefined) });
  const base = { exit: { code: 1 } };
  expect(rules.scriptFor("container", { ...facts, attempt: 0 }, base)).toEqual({ exit: undefined });
  expect(rules.scriptFor("container", { ...facts, attempt: 2 }, base)).toMatchObject({ startDelayMs: 2 });
});
