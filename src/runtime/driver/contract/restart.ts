import { describe, expect, it } from "vitest";
import { type ContractBench, readLog, until } from "./bench.ts";

export function describeRestart(bench: () => ContractBench): void {
  describe("a daemon that goes away", () => {
    it("finds its containers again, running, ended or waiting", async () => {
      const script = "trap 'echo bye; exit 9' TERM; echo hello; while true; do sleep 0.02; done";
      const stays = await bench().started({ args: ["sh", "-c", script] });
      const ends = await bench().started({ args: ["sh", "-c", "sleep 0.3; echo last words; exit 5"] });
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
      expect(readLog(ends.logPath).map(({ text }) => text)).toEqual(["last words"]);
    });

    it("says 255 when the monitor was killed too", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      for (const pid of bench().monitorsOf(spec.id)) process.kill(pid, "SIGKILL");
      await bench().driver.kill(spec.id, "KILL");
      expect((await bench().wait(spec.id)).exitCode).toBe(255);
      await bench().driver.remove(spec.id);
      expect(bench().traces(spec.id)).toEqual([]);
    });
  });
}
