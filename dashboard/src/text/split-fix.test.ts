import { expect, test } from "vitest";
import { type Fix, splitFix } from "./split-fix.ts";

test.each<{ fix: string } & Fix>([
  { fix: "use another hostPort", advice: "use another hostPort", command: undefined },
  { fix: "its log: kubectl logs web -c c", advice: "its log", command: "kubectl logs web -c c" },
  { fix: "kubectl uncordon NODE", advice: "", command: "kubectl uncordon NODE" },
  { fix: "kubectl logs a\nrm -rf /", advice: "", command: "kubectl logs a rm -rf /" },
  { fix: "kubectl logs a\u202e\u0007b\u2028c", advice: "", command: "kubectl logs a b c" },
  { fix: "the words kubectl and kindling alone", advice: "the words", command: "kubectl and kindling alone" },
])("$fix", ({ fix, advice, command }) => {
  expect(splitFix(fix)).toEqual({ advice, command });
});
