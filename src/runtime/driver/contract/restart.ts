import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ContractBench, readLog, until } from "./contract-bench.ts";

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

    it("gives the streams and the terminal of its containers to the next one", async () => {
      const pipes = await bench().started({ args: ["cat"], stdin: true });
      const terminal = await bench().started({
        // The new size and what is typed go separate ways.
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

    it("takes over a container whose log has lost its directory, and what it says", async () => {
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
