import { existsSync, renameSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ContractBench, joinParts, readLog } from "./contract-bench.ts";

export function describeLogs(bench: () => ContractBench): void {
  describe("logs", () => {
    it("writes CRI's format, streams apart and in order", async () => {
      const spec = bench().spec({
        args: ["sh", "-c", "echo one; sleep 0.1; echo two >&2; sleep 0.1; printf three"],
      });
      await bench().runSpec(spec);
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
      const count = 3000;
      const script = `i=0; while [ $i -lt ${count} ]; do echo line $i; i=$((i+1)); [ $((i % 100)) = 0 ] && sleep 0.02; done`;
      const spec = await bench().started({ args: ["sh", "-c", script] });
      const rotated: string[] = [];
      for (let turn = 0; turn < 5; turn++) {
        await sleep(60);
        if (await bench().exited(spec.id)) break;
        const away = `${spec.logPath}.${turn}`;
        renameSync(spec.logPath, away);
        rotated.push(away);
        await bench()
          .driver.reopenLog(spec.id)
          .catch((error) => {
            // It may have ended meanwhile.
            if (!String(error).includes("exited")) throw error;
          });
      }
      await bench().wait(spec.id);
      expect(rotated.length).toBeGreaterThan(0);
      const files = [...rotated, spec.logPath].filter((path) => existsSync(path));
      const all = files.flatMap((path) => joinParts(readLog(path)));
      expect(all).toEqual(Array.from({ length: count }, (_, index) => `line ${index}`));
    });
  });
}
