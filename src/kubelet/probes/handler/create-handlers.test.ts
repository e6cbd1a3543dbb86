import { Metadata, status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { ExecSyncRequest, ExecSyncResponse } from "../../../cri/generated/cri.ts";
import { createHandlers } from "./create-handlers.ts";

type Answer = Partial<ExecSyncResponse> | Error;

async function run(answer: Answer, { command = ["sh", "-c", "true"], timeoutMs = 1_000 } = {}) {
  const asked: { request: ExecSyncRequest; timeoutMs: number | undefined }[] = [];
  const handlers = createHandlers({
    runtime: {
      execSync: async (request, options) => {
        asked.push({ request, timeoutMs: options?.timeoutMs });
        if (answer instanceof Error) throw answer;
        return { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), exitCode: 0, ...answer };
      },
    },
  });
  const env = [
    { name: "PORT", value: "80" },
    { name: "SECRET", valueFrom: {} },
  ];
  const container = { name: "c", image: "a", env };
  const signal = new AbortController().signal;
  const target = { container, containerId: "id", ip: undefined };
  const outcome = await handlers({ exec: { command } }, target, { timeoutMs, signal });
  return { outcome, asked };
}

function grpcError(code: status, details: string): Error {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}

const rows: [string, Answer, object][] = [
  ["exits with 0", {}, { kind: "success" }],
  [
    "exits with another code: both outputs",
    { exitCode: 1, stdout: Buffer.from("out "), stderr: Buffer.from("err") },
    { kind: "failure", output: "out err" },
  ],
  [
    "writes too much output",
    { exitCode: 1, stdout: Buffer.alloc(20_000, "x") },
    { kind: "failure", output: "x".repeat(10_240) },
  ],
  [
    "takes too long",
    grpcError(status.DEADLINE_EXCEEDED, "late"),
    { kind: "failure", output: 'command timed out: "sh -c true" timed out after 1s' },
  ],
  [
    "cannot be run",
    grpcError(status.NOT_FOUND, "no such container"),
    { kind: "error", state: "unknown", message: "rpc error: code = NotFound desc = no such container" },
  ],
  [
    "fails because the runtime is unavailable",
    grpcError(status.UNAVAILABLE, "no connection"),
    { kind: "error", message: "rpc error: code = Unavailable desc = no connection" },
  ],
];
test.each(rows)("a command that %s", async (_name, answer, expected) => {
  expect((await run(answer)).outcome).toMatchObject(expected);
});

test("sends the timeout to the runtime and waits longer for its response", async () => {
  const { asked } = await run({}, { timeoutMs: 90_000 });
  expect(asked).toEqual([
    { request: { containerId: "id", cmd: ["sh", "-c", "true"], timeout: 90n }, timeoutMs: 100_000 },
  ]);
});

test("expands literal variables of the container", async () => {
  const { asked } = await run({}, { command: ["check", "$(PORT)", "$(SECRET)", "$(OTHER)", "$$(PORT)"] });
  expect(asked[0]?.request.cmd).toEqual(["check", "80", "", "$(OTHER)", "$(PORT)"]);
});
