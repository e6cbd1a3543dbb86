import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import { execIn, runContainer, runSandbox } from "../support/cri/cri-pod.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { openStream } from "../support/cri/cri-stream.ts";
import { openSpdyStream } from "../support/cri/spdy-stream.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { slowTest } from "../support/vitest/slow.ts";

describeWithTool("busybox", "CRI streaming", () => describeEachDriver(suite));

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

  test("exec: standard input is forwarded and can be closed", async () => {
    const stream = await openStream(await exec(["cat"], { stdin: true }));
    stream.send("one\n");
    stream.send("two\n");
    stream.closeInput();
    expect(await stream.ended).toMatchObject({ stdout: "one\ntwo\n", status: { status: "Success" } });
  });

  test("exec: a terminal, and its size", async () => {
    const stream = await openStream(await exec(["sh"], { stdin: true, tty: true }));
    stream.resize({ Width: 123, Height: 45 });
    // The terminal echoes the command: only a separate line is its output.
    stream.send('until stty size | grep -q "45 12[3]"; do sleep 0.1; done; stty size; exit\n');
    expect((await stream.ended).stdout).toMatch(/^45 123\r?$/m);
  });

  test("exec: a URL can be used once", async () => {
    const url = await exec(["true"]);
    await (await openStream(url)).ended;
    await expect(openStream(url)).rejects.toThrow();
    await expect(openStream(url.replace(/[^/]+$/, "guess"))).rejects.toThrow();
  });

  test("exec: the process is killed when its client disconnects", async () => {
    const stream = await openStream(await exec(["sleep", "4321"], { stdin: true }));
    const processes = async () => (await execIn(runtime.client, containerId, "ps")).stdout;
    await expect.poll(processes).toContain("sleep 4321");
    stream.destroy();
    await expect.poll(processes).not.toContain("sleep 4321");
  });

  test("exec: a request needs at least one stream, and a terminal excludes stderr", async () => {
    const base = { containerId, cmd: ["true"], stdin: false };
    for (const streams of [
      { tty: false, stdout: false, stderr: false },
      { tty: true, stdout: true, stderr: true },
    ])
      await expect(runtime.client.runtime.exec({ ...base, ...streams })).rejects.toThrow(/INVALID_ARGUMENT/);
  });

  test("exec: a background process that keeps the outputs open does not delay the end", async () => {
    const script = "sleep 3333 & echo done; exit 7";
    const stream = await openStream(await exec(["sh", "-c", script]));
    const { stdout, status } = await stream.ended;
    expect({ stdout, status }).toMatchObject({ stdout: "done\n", status: { reason: "NonZeroExitCode" } });
  });

  test("exec: a slow reader receives all output", async () => {
    const stream = await openSpdyStream(await exec(["sh", "-c", "head -c 3000000 /dev/zero; sleep 3333 &"]), [
      ...["error", "stdout", "stderr"],
    ] as const);
    stream.pause();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    stream.resume();
    const { stdout, status } = await stream.ended;
    expect(stdout.length).toBe(3_000_000);
    expect(status).toMatchObject({ status: "Success" });
  });

  describe("over SPDY", () => {
    test("exec: both outputs and the exit code", async () => {
      const url = await exec(["sh", "-c", "echo out; echo err >&2; exit 5"]);
      const stream = await openSpdyStream(url, ["error", "stdout", "stderr"]);
      const { status, stdout, stderr } = await stream.ended;
      expect({ stdout, stderr }).toEqual({ stdout: "out\n", stderr: "err\n" });
      expect(status).toMatchObject({ details: { causes: [{ reason: "ExitCode", message: "5" }] } });
    });

    test("exec: standard input is forwarded and can be closed while the outputs stay open", async () => {
      const url = await exec(["sh", "-c", "cat; echo end"], { stdin: true });
      const stream = await openSpdyStream(url, ["error", "stdin", "stdout", "stderr"]);
      const much = "x".repeat(1_000_000);
      stream.send("one\n");
      stream.send(much);
      await stream.ping();
      stream.closeInput();
      const { stdout, status } = await stream.ended;
      expect(stdout).toBe(`one\n${much}end\n`);
      expect(status).toMatchObject({ status: "Success" });
    });

    test("exec: a terminal, and its size", async () => {
      const url = await exec(["sh"], { stdin: true, tty: true });
      const stream = await openSpdyStream(url, ["error", "stdin", "stdout", "resize"]);
      stream.resize({ Width: 123, Height: 45 });
      // The terminal echoes the command: only a separate line is its output.
      stream.send('until stty size | grep -q "45 12[3]"; do sleep 0.1; done; stty size; exit\n');
      expect((await stream.ended).stdout).toMatch(/^45 123\r?$/m);
    });

    test("exec: the process is killed when its client disconnects", async () => {
      const url = await exec(["sleep", "5432"], { stdin: true });
      const stream = await openSpdyStream(url, ["error", "stdin", "stdout", "stderr"]);
      const processes = async () => (await execIn(runtime.client, containerId, "ps")).stdout;
      await expect.poll(processes).toContain("sleep 5432");
      stream.destroy();
      await expect.poll(processes).not.toContain("sleep 5432");
    });

    test("attach: input reaches the container's main process, and its output is returned", async () => {
      const request = { containerId, stdin: true, tty: false, stdout: true, stderr: true };
      const { url } = await runtime.client.runtime.attach(request);
      const stream = await openSpdyStream(url, ["error", "stdin", "stdout", "stderr"]);
      stream.send("over spdy\n");
      await expect.poll(() => stream.stdout()).toContain("got over spdy");
      stream.destroy();
    });

    test("an unsupported protocol is rejected with the list of supported ones", async () => {
      const url = await exec(["true"]);
      await expect(openSpdyStream(url, [], ["v9.channel.k8s.io"])).rejects.toThrow(
        /403: .*v4.channel.k8s.io/,
      );
    });

    // The server waits 30 seconds for the streams that are missing.
    slowTest("a stream that is opened twice affects no other connection", async () => {
      const url = await exec(["sleep", "6543"], { stdin: true });
      await expect(openSpdyStream(url, ["error", "error"])).rejects.toThrow("the server hung up");
      await expectServed();
    });

    test.each([
      ["bytes that are no frames", Buffer.from("GET / HTTP/1.1\r\n\r\n".repeat(1_000)).fill(0xff, 0, 8)],
      ["a frame of another version", Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0])],
      ["headers that are not compressed", Buffer.from([0x80, 3, 0, 1, 0, 0, 0, 14, ...Buffer.alloc(14, 9)])],
    ])("%s affects no other connection", async (_, bytes) => {
      const url = await exec(["sleep", "6543"], { stdin: true });
      const stream = await openSpdyStream(url, ["error", "stdin", "stdout", "stderr"]);
      stream.sendRaw(bytes);
      await stream.ended;
      await expectServed();
    });

    async function expectServed(): Promise<void> {
      const stream = await openSpdyStream(await exec(["echo", "fine"]), ["error", "stdout", "stderr"]);
      expect((await stream.ended).stdout).toBe("fine\n");
    }
  });

  test("attach: input reaches the container's main process, and its output is returned", async () => {
    const request = { containerId, stdin: true, tty: false, stdout: true, stderr: true };
    const { url } = await runtime.client.runtime.attach(request);
    const stream = await openStream(url);
    stream.send("hello\n");
    await expect.poll(() => stream.stdout()).toContain("got hello");
    stream.destroy();
  });
}
