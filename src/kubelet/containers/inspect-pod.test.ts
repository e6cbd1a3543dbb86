import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status as grpcStatus } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Container,
  ContainerState,
  ContainerStatus,
  ContainerStatusResponse,
  PodSandbox,
  PodSandboxStatusResponse,
} from "../../cri/generated/cri.ts";
import { inspectPod, logEnd, readTerminationMessage } from "./inspect-pod.ts";

const labels = { "io.kubernetes.pod.uid": "u-1", "io.kubernetes.container.name": "c" };
const listing = {
  uid: "u-1",
  sandboxes: [PodSandbox.fromPartial({ id: "s" })],
  containers: ["kept", "gone"].map((id) => Container.fromPartial({ id, podSandboxId: "s" })),
};

function failure(code: grpcStatus): Error {
  return Object.assign(new Error("no"), { code, details: "no" });
}

function runtimeThatFailsWith(code: grpcStatus) {
  return {
    podSandboxStatus: async () => PodSandboxStatusResponse.fromPartial({ status: { id: "s", labels } }),
    containerStatus: async ({ containerId }: { containerId: string }) => {
      if (containerId === "gone") throw failure(code);
      const state = ContainerState.CONTAINER_EXITED;
      return ContainerStatusResponse.fromPartial({ status: { id: containerId, labels, state, exitCode: 3 } });
    },
  };
}

test("leaves out a container that disappears between list and status", async () => {
  const deps = { cri: { runtime: runtimeThatFailsWith(grpcStatus.NOT_FOUND) }, dataDirectory: "/nowhere" };
  const observed = await inspectPod(deps, listing);
  expect(observed?.uid).toBe("u-1");
  expect(observed?.sandboxes.map(({ id }) => id)).toEqual(["s"]);
  expect(observed?.containers).toMatchObject([
    { id: "kept", sandboxId: "s", state: { kind: "exited", exitCode: 3, message: "" } },
  ]);
});

test("throws when the runtime does not respond", async () => {
  const deps = { cri: { runtime: runtimeThatFailsWith(grpcStatus.UNAVAILABLE) }, dataDirectory: "/nowhere" };
  await expect(inspectPod(deps, listing)).rejects.toThrow("no");
});

let dataDirectory: string;
let own: string;
let log: string;

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "termination-"));
  own = join(dataDirectory, "pods/u-1/containers/c");
  log = join(dataDirectory, "0.log");
  await mkdir(own, { recursive: true });
  await writeFile(log, "2024-01-01T00:00:00.1Z stdout F one\n2024-01-01T00:00:00.2Z stderr F two\n");
});

afterAll(() => rm(dataDirectory, { recursive: true, force: true }));

function ended(hostPath: string, rest: Partial<ContainerStatus> & { policy?: string; path?: string } = {}) {
  const { policy = "File", path = "/dev/termination-log", ...status } = rest;
  return ContainerStatus.fromPartial({
    state: ContainerState.CONTAINER_EXITED,
    exitCode: 1,
    logPath: log,
    labels: { "io.kubernetes.pod.uid": "u-1", "io.kubernetes.container.name": "c" },
    annotations: {
      "io.kubernetes.container.terminationMessagePath": path,
      "io.kubernetes.container.terminationMessagePolicy": policy,
    },
    mounts: [{ containerPath: "/dev/termination-log", hostPath }],
    ...status,
  });
}

const read = (status: ContainerStatus) => readTerminationMessage({ dataDirectory }, status);

describe("readTerminationMessage", () => {
  test("returns the end of the file", async () => {
    const path = join(own, "long");
    await writeFile(path, `${"x".repeat(10_000)}end`);
    const message = await read(ended(path));
    expect(message).toHaveLength(4_096);
    expect(message.endsWith("xend")).toBe(true);
  });

  test("finds a path without its leading slash", async () => {
    const path = join(own, "relative");
    await writeFile(path, "done");
    expect(await read(ended(path, { path: "dev/termination-log" }))).toBe("done");
  });

  test.each([
    ["File, nothing written", {}, ""],
    ["FallbackToLogsOnError, failed", { policy: "FallbackToLogsOnError" }, "one\ntwo\n"],
    ["FallbackToLogsOnError, succeeded", { policy: "FallbackToLogsOnError", exitCode: 0 }, ""],
    ["never started", { policy: "FallbackToLogsOnError", reason: "ContainerCannotRun" }, ""],
    [
      "log gone",
      { policy: "FallbackToLogsOnError", logPath: "/nowhere" },
      expect.stringContaining("Error on reading termination message from logs: "),
    ],
    ["no path", { path: "" }, ""],
  ])("an empty file: %s", async (_, rest, message) => {
    const path = join(own, "empty");
    await writeFile(path, "");
    expect(await read(ended(path, rest))).toEqual(message);
  });

  test("a missing file is an empty message", async () => {
    expect(await read(ended(join(own, "gone")))).toBe("");
  });

  test("a link is not followed", async () => {
    const path = join(own, "link");
    await symlink("/etc/passwd", path);
    const message = await read(ended(path));
    expect(message).toContain("Error on reading termination log");
    expect(message).not.toContain("root:");
  });

  test("ignores a directory", async () => {
    const path = join(own, "directory");
    await mkdir(path);
    expect(await read(ended(path))).toContain("is not a regular file");
  });

  test("a volume that is mounted in its place is not read", async () => {
    const path = join(dataDirectory, "volume-file");
    await writeFile(path, "secret");
    expect(await read(ended(path))).toBe("");
  });
});

describe("logEnd", () => {
  const line = (content: string, tag = "F") => `2024-01-01T00:00:00Z stdout ${tag} ${content}\n`;
  test.each([
    ["nothing", "", ""],
    ["parts of a line are joined", line("ab", "P") + line("cd"), "abcd\n"],
    ["more tags after the first", line("x", "F:more"), "x\n"],
    ["the last 80 lines", line("first") + line("n").repeat(80), "n\n".repeat(80)],
    ["the last 2048 bytes", line("x".repeat(3_000)), `${"x".repeat(2_047)}\n`],
    ["a line whose beginning is not there", `${"x".repeat(10)}\n${line("y")}`, `${"x".repeat(10)}\ny\n`],
  ])("%s", (_, log, end) => {
    expect(logEnd(Buffer.from(log)).toString()).toBe(end);
  });

  test("bytes pass unchanged", () => {
    const content = Buffer.from([0xff, 0xfe, 0x00]);
    const log = Buffer.concat([Buffer.from("t stderr F "), content, Buffer.from("\n")]);
    expect(logEnd(log)).toEqual(Buffer.concat([content, Buffer.from("\n")]));
  });
});
