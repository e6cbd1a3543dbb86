import { rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ContractBench, readLog, until } from "./contract-bench.ts";

export function describeLife(bench: () => ContractBench): void {
  describe("container lifecycle", () => {
    it("goes from created to running to exited", async () => {
      const spec = bench().spec({ args: ["sh", "-c", "read line; exit 7"], stdin: true });
      expect(await bench().driver.state(spec.id)).toEqual({ kind: "missing" });
      const before = Date.now();
      await bench().driver.create(spec);
      expect(await bench().driver.state(spec.id)).toEqual({ kind: "created" });
      expect(await bench().driver.list()).toContain(spec.id);
      await bench().driver.start(spec.id);
      const running = await bench().driver.state(spec.id);
      if (running.kind !== "running") throw new Error(`it is ${running.kind}`);
      expect(running.pid).toBeGreaterThan(1);
      expect(running.startedAt).toBeGreaterThanOrEqual(before);
      const streams = await bench().driver.attach(spec.id);
      streams.stdin?.write("go\n");
      const exited = await bench().wait(spec.id);
      expect(exited).toMatchObject({ kind: "exited", exitCode: 7, oomKilled: false });
      expect(exited.startedAt).toBe(running.startedAt);
      expect(exited.finishedAt).toBeGreaterThanOrEqual(exited.startedAt);
      expect(await bench().driver.state(spec.id)).toEqual(exited);
      streams.close();
      await bench().driver.remove(spec.id);
      expect(await bench().driver.state(spec.id)).toEqual({ kind: "missing" });
    });

    it.each([0, 1, 42, 255])("keeps exit code %i", async (code) => {
      expect((await bench().run({ args: ["sh", "-c", `exit ${code}`] })).exitCode).toBe(code);
    });

    it("exits on signals by name and by number", async () => {
      for (const [signal, exitCode] of [
        ["SIGTERM", 143],
        ["usr1", 138],
        ["9", 137],
      ] as const) {
        // PID 1 ignores signals without a handler: the script reports when it has installed them.
        const script = "trap 'exit 143' TERM; trap 'exit 138' USR1; echo ready; while :; do sleep 0.05; done";
        const spec = await bench().started({ args: ["sh", "-c", script] });
        await until(() => readLog(spec.logPath).length === 1);
        await bench().driver.kill(spec.id, signal);
        expect((await bench().wait(spec.id)).exitCode).toBe(exitCode);
      }
    });

    it("rejects a missing program and leaves nothing behind", async () => {
      const spec = bench().spec({ args: ["no-such-program"] });
      await expect(bench().driver.create(spec)).rejects.toThrow(/not found|no such file/i);
      expect(await bench().driver.list()).not.toContain(spec.id);
      expect(bench().traces(spec.id)).toEqual([]);
    });

    it("rejects duplicate IDs, a second start and IDs that are paths", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      await expect(bench().driver.create(spec)).rejects.toThrow(/exists/);
      await expect(bench().driver.start(spec.id)).rejects.toThrow(/running/);
      await expect(bench().driver.create(bench().spec({ id: "../x" }))).rejects.toThrow(/id/);
      await expect(bench().driver.start("nobody")).rejects.toThrow(/not exist/);
      expect((await bench().driver.state(spec.id)).kind).toBe("running");
    });

    it("stops waiting when the signal aborts", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      await expect(bench().driver.wait(spec.id, AbortSignal.timeout(100))).rejects.toThrow();
    });

    it("removes a container in every state, idempotently", async () => {
      const created = bench().spec({ args: ["sleep", "100"] });
      await bench().driver.create(created);
      const running = await bench().started({ args: ["sh", "-c", "sleep 100 & sleep 100"] });
      const exited = bench().spec({ args: ["true"] });
      await bench().runSpec(exited);
      for (const { id } of [created, running, exited]) {
        await bench().driver.remove(id);
        await bench().driver.remove(id);
        expect(bench().traces(id)).toEqual([]);
      }
      await bench().driver.remove("never-was");
    });

    it("leaves no exit file when the state is read during removal", async () => {
      const { driver } = bench();
      for (let round = 0; round < 3; round++) {
        const { id } = await bench().started({ args: ["sleep", "100"] });
        const asking = Array.from({ length: 4 }, async () => {
          while ((await driver.state(id)).kind !== "missing") await nextTurn();
        });
        await driver.remove(id);
        await Promise.all(asking);
        expect(bench().traces(id)).toEqual([]);
      }
    });
  });
}

export function describeRestart(bench: () => ContractBench): void {
  describe("daemon restart", () => {
    it("finds containers that are running, exited or created", async () => {
      const script = "trap 'echo bye; exit 9' TERM; echo hello; while true; do sleep 0.02; done";
      const stays = await bench().started({ args: ["sh", "-c", script] });
      const ends = await bench().started({ args: ["sh", "-c", "sleep 0.3; echo last output; exit 5"] });
      const waits = bench().spec({ args: ["sh", "-c", "exit 6"] });
      await bench().driver.create(waits);
      await until(() => readLog(stays.logPath).length === 1);
      await bench().reopen({ pauseMs: 600 });
      expect((await bench().driver.state(stays.id)).kind).toBe("running");
      expect(await bench().wait(ends.id)).toMatchObject({ exitCode: 5 });
      expect(await bench().driver.state(waits.id)).toEqual({ kind: "created" });
      await bench().driver.start(waits.id);
      expect((await bench().wait(waits.id)).exitCode).toBe(6);
      await bench().driver.kill(stays.id, "TERM");
      expect((await bench().wait(stays.id)).exitCode).toBe(9);
      expect(readLog(stays.logPath).map(({ text }) => text)).toEqual(["hello", "bye"]);
      expect(readLog(ends.logPath).map(({ text }) => text)).toEqual(["last output"]);
    });

    it("reconnects to the streams and the terminal of containers", async () => {
      const pipes = await bench().started({ args: ["cat"], stdin: true });
      const terminal = await bench().started({
        // Resize and input travel separately.
        args: [
          ...["sh", "-c"],
          'read x; until [ "$(stty size)" = "33 99" ]; do sleep 0.1; done; stty size; echo got $x; read x',
        ],
        stdin: true,
        terminal: true,
      });
      await bench().reopen({ pauseMs: 0 });
      const first = await bench().attach(pipes.id);
      first.streams.stdin?.write("after\n");
      await until(() => first.out() === "after\n");
      first.streams.close();
      const second = await bench().attach(terminal.id);
      await second.streams.resize(99, 33);
      second.streams.stdin?.write("word\n");
      await until(() => /33 99\s+got word/.test(second.out()));
      second.streams.close();
      expect((await bench().driver.state(terminal.id)).kind).toBe("running");
    });

    it("takes over a container whose log directory is gone, and keeps reading its output", async () => {
      const directory = bench().directory("logs");
      const script =
        "trap 'head -c 200000 /dev/zero; exit 4' TERM; echo ready; while true; do sleep 0.02; done";
      const spec = await bench().started({ args: ["sh", "-c", script], logPath: join(directory, "0.log") });
      await until(() => readLog(spec.logPath).length === 1);
      rmSync(directory, { recursive: true });
      await bench().reopen({ pauseMs: 0 });
      await bench().driver.kill(spec.id, "TERM");
      expect((await bench().wait(spec.id)).exitCode).toBe(4);
    });

    it("reports exit code 255 when the monitor was killed too", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      for (const pid of bench().monitorsOf(spec.id)) process.kill(pid, "SIGKILL");
      await bench().driver.kill(spec.id, "KILL");
      expect((await bench().wait(spec.id)).exitCode).toBe(255);
      await bench().driver.remove(spec.id);
      expect(bench().traces(spec.id)).toEqual([]);
    });
  });
}
