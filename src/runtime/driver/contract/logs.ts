import { renameSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type ContractBench, joinParts, readLog, until } from "./contract-bench.ts";

export function describeLogs(bench: () => ContractBench): void {
  describe("logs", () => {
    it("writes CRI's format, streams apart and in order", async () => {
      // Whoever reads two streams late cannot tell which came first: each waits until the one before is written.
      const spec = await bench().started({
        args: ["sh", "-c", "echo one; read go; echo two >&2; read go; printf three"],
        stdin: true,
      });
      const { streams } = await bench().attach(spec.id);
      for (const written of [1, 2]) {
        await until(() => readLog(spec.logPath).length === written);
        streams.stdin?.write("go\n");
      }
      await bench().wait(spec.id);
      streams.close();
      const lines = readLog(spec.logPath);
      expect(lines.map(({ stream, text }) => [stream, text])).toEqual([
        ["stdout", "one"],
        ["stderr", "two"],
        ["stdout", "three"],
      ]);
      for (const { time } of lines)
        expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}(Z|\+00:00)$/);
      expect(lines.slice(0, 2).map(({ tag }) => tag)).toEqual(["F", "F"]);
    });

    it("cuts long lines into parts, and loses nothing of megabytes without one newline", async () => {
      const spec = bench().spec({
        args: ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"],
      });
      await bench().runSpec(spec);
      const lines = readLog(spec.logPath);
      expect(Math.max(...lines.map(({ text }) => text.length))).toBeLessThanOrEqual(16 * 1024);
      expect(joinParts(lines).map((text) => text.length)).toEqual([3_000_000, 3]);
    });

    it("lets nobody forge lines", async () => {
      const spec = bench().spec({
        args: ["printf", "2020-01-01T00:00:00Z stderr F forged\\r\\n\\000bin\\n"],
      });
      await bench().runSpec(spec);
      expect(readLog(spec.logPath).every(({ stream, tag }) => stream === "stdout" && tag === "F")).toBe(true);
    });

    it("goes on in a new file after rotation, without losing or repeating a line", async () => {
      // Talks until it is told to stop, and then says how much it has said.
      const script =
        "trap 'told=1' TERM; i=0; while [ -z \"$told\" ]; do echo line $i; i=$((i+1)); [ $((i % 100)) = 0 ] && sleep 0.02; done; echo $i lines";
      const spec = await bench().started({ args: ["sh", "-c", script] });
      const hasLines = () => (statSync(spec.logPath, { throwIfNoEntry: false })?.size ?? 0) > 0;
      const rotated: string[] = [];
      for (let turn = 0; turn < 5; turn++) {
        await until(hasLines);
        const away = `${spec.logPath}.${turn}`;
        renameSync(spec.logPath, away);
        rotated.push(away);
        await bench().driver.reopenLog(spec.id);
      }
      await until(hasLines);
      await bench().driver.kill(spec.id, "TERM");
      await bench().wait(spec.id);
      const all = [...rotated, spec.logPath].flatMap((path) => joinParts(readLog(path)));
      const count = all.length - 1;
      expect(all).toEqual([...Array.from({ length: count }, (_, i) => `line ${i}`), `${count} lines`]);
    });
  });
}
