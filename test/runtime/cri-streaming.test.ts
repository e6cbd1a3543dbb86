import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { execIn, runContainer, runSandbox } from "../support/cri-pod.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri-runtime.ts";
import { openStream } from "../support/cri-stream.ts";
import { describeWithTool } from "../support/tools.ts";

describeWithTool("busybox", "CRI streaming", () => {
  describeWithTool("conmon", "with the driver oci", () => suite("oci"));
  describe("with the driver host", () => suite("host"));
});

function suite(driver: "oci" | "host"): void {
  let runtime: CriRuntime;
  let containerId: string;
  beforeAll(async () => {
    runtime = await startCriRuntime({ driver });
    const sandbox = await runSandbox(runtime.client);
    const command = ["sh", "-c", "while read line; do echo got $line; done"];
    containerId = await runContainer(runtime.client, sandbox, { command, stdin: true });
  });
  afterAll(() => runtime?.stop());

  const exec = async (cmd: string[], options: { stdin?: boolean; tty?: boolean } = {}) => {
    const { stdin = false, tty = false } = options;
    const request = { containerId, cmd, stdin, tty, stdout: true, stderr: !tty };
    const { url } = await runtime.client.runtime.exec(request);
    return url;
  };

  test("exec: both outputs and the exit code", async () => {
    const stream = await openStream(await exec(["sh", "-c", "echo out; echo err >&2; exit 5"]));
    const { status, stdout, stderr } = await stream.ended;
    expect({ stdout, stderr }).toEqual({ stdout: "out\n", stderr: "err\n" });
    expect(status).toMatchObject({
      status: "Failure",
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: "5" }] },
    });
  });

  test("exec: standard input goes in and can be closed", async () => {
    const stream = await openStream(await exec(["cat"], { stdin: true }));
    stream.send("one\n");
    stream.send("two\n");
    stream.closeInput();
    expect(await stream.ended).toMatchObject({ stdout: "one\ntwo\n", status: { status: "Success" } });
  });

  test("exec: a terminal, and its size", async () => {
    const stream = await openStream(await exec(["sh"], { stdin: true, tty: true }));
    stream.resize({ Width: 123, Height: 45 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    stream.send("stty size; exit\n");
    expect((await stream.ended).stdout).toContain("45 123");
  });

  test("exec: an address works once", async () => {
    const url = await exec(["true"]);
    await (await openStream(url)).ended;
    await expect(openStream(url)).rejects.toThrow();
    await expect(openStream(url.replace(/[^/]+$/, "guess"))).rejects.toThrow();
  });

  test("exec: a client that goes away takes its process with it", async () => {
    const stream = await openStream(await exec(["sleep", "4321"], { stdin: true }));
    const processes = async () => (await execIn(runtime.client, containerId, "ps")).stdout;
    await expect.poll(processes).toContain("sleep 4321");
    stream.destroy();
    await expect.poll(processes, { timeout: 5_000 }).not.toContain("sleep 4321");
  });

  test("exec: streams must be asked for, and not stderr with a terminal", async () => {
    const base = { containerId, cmd: ["true"], stdin: false };
    for (const streams of [
      { tty: false, stdout: false, stderr: false },
      { tty: true, stdout: true, stderr: true },
    ])
      await expect(runtime.client.runtime.exec({ ...base, ...streams })).rejects.toThrow(/INVALID_ARGUMENT/);
  });

  test("attach: input reaches the container's own process, and its answer comes back", async () => {
    const request = { containerId, stdin: true, tty: false, stdout: true, stderr: true };
    const { url } = await runtime.client.runtime.attach(request);
    const stream = await openStream(url);
    stream.send("hello\n");
    await expect.poll(() => stream.stdout(), { timeout: 5_000 }).toContain("got hello");
    stream.destroy();
  });
}
