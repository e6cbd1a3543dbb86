import { beforeAll, expect, test } from "vitest";
import { buildProgram } from "../commands.ts";
import { type Completion, completeWords } from "./complete-words.ts";
import { type DescribedCommand, describeProgram } from "./describe-program.ts";

let commands: readonly DescribedCommand[];
beforeAll(async () => {
  const program = await buildProgram((name) => ["why", "recover", "rollout"].includes(name));
  commands = describeProgram(program);
}, 60_000);

function complete(...words: string[]): Completion | string[] {
  const completion = completeWords(commands, words);
  return completion.kind === "words" ? completion.candidates.map(({ word }) => word) : completion;
}

test.each<[string[], string[]]>([
  [["reco"], ["recover"]],
  [["rollout", ""], ["status"]],
  [
    ["why", "--as"],
    ["--as", "--as-group", "--as-uid"],
  ],
  [
    ["why", "-o", ""],
    ["table", "json"],
  ],
  [["why", "--output=j"], ["--output=json"]],
  [["recover", "--policy", "n"], ["never"]],
  [["why", "web-0", ""], []],
  [["why", "-l", ""], []],
  [["unknown", ""], []],
])("completes %j with %j", (words, expected) => {
  expect(complete(...words)).toEqual(expected);
});

test.each<[string[], Completion]>([
  [["why", ""], { kind: "cluster", of: "pod", text: "", options: {} }],
  [["why", "--unknown", ""], { kind: "cluster", of: "pod", text: "", options: {} }],
  [
    ["why", "-n", "shop", "--context=prod", "we"],
    { kind: "cluster", of: "pod", text: "we", options: { "--namespace": "shop", "--context": "prod" } },
  ],
  [["why", "-A", "-n", "s"], { kind: "cluster", of: "namespace", text: "s", options: {} }],
  [["recover", "--dry-run", ""], { kind: "cluster", of: "statefulset", text: "", options: {} }],
  [["rollout", "status", "d"], { kind: "cluster", of: "workload", text: "d", options: {} }],
  [["why", "--context", ""], { kind: "cluster", of: "context", text: "", options: {} }],
  [["why", "--kubeconfig", "x"], { kind: "file" }],
])("completes %j from %j", (words, expected) => {
  expect(complete(...words)).toEqual(expected);
});
