import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ContractBench, readLog, until } from "./contract-bench.ts";

export function describeLife(bench: () => ContractBench): void {
  describe("life of a container", () => {
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

    it("ends by signals, by name and by number", async () => {
      for (const [signal, exitCode] of [
        ["SIGTERM", 143],
        ["usr1", 138],
        ["9", 137],
      ] as const) {
        // A first process ignores signals it has no handler for: it says when it has them.
        const script = "trap 'exit 143' TERM; trap 'exit 138' USR1; echo ready; while :; do sleep 0.05; done";
        const spec = await bench().started({ args: ["sh", "-c", script] });
        await until(() => readLog(spec.logPath).length === 1);
        await bench().driver.kill(spec.id, signal);
        expect((await bench().wait(spec.id)).exitCode).toBe(exitCode);
      }
    });

    it("refuses a program that does not exist, and leaves nothing", async () => {
      const spec = bench().spec({ args: ["no-such-program"] });
      await expect(bench().driver.create(spec)).rejects.toThrow(/not found|no such file/i);
      expect(await bench().driver.list()).not.toContain(spec.id);
      expect(bench().traces(spec.id)).toEqual([]);
    });

    it("refuses an id twice, a start twice and ids that are paths", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      await expect(bench().driver.create(spec)).rejects.toThrow(/exists/);
      await expect(bench().driver.start(spec.id)).rejects.toThrow(/running/);
      await expect(bench().driver.create(bench().spec({ id: "../x" }))).rejects.toThrow(/id/);
      await expect(bench().driver.start("nobody")).rejects.toThrow(/not exist/);
      expect((await bench().driver.state(spec.id)).kind).toBe("running");
    });

    it("stops waiting when told to", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      await expect(bench().driver.wait(spec.id, AbortSignal.timeout(100))).rejects.toThrow();
    });

    it("removes in every state, and again", async () => {
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

    it("leaves nothing for who asks for its state while it is removed", async () => {
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
