import { describe, expect, it } from "vitest";
import { type ContractBench, until } from "./contract-bench.ts";

export function describeLimits(bench: () => ContractBench): void {
  describe("limits", () => {
    it("kills what takes more memory than it may, and says so", async () => {
      const { exitCode, oomKilled } = await bench().run({
        args: ["sh", "-c", "x=a; while true; do x=$x$x; done"],
        resources: { memoryLimitBytes: 16 * 1024 * 1024 },
      });
      expect(exitCode).not.toBe(0);
      expect(oomKilled).toBe(true);
    });

    it("stops a fork bomb", async () => {
      const spec = await bench().started({
        args: ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 100 & done; sleep 100"],
        resources: { pidsLimit: 5 },
      });
      await until(
        async () => (await bench().driver.stats(spec.id))?.pids === 5 || (await bench().exited(spec.id)),
      );
      expect((await bench().driver.stats(spec.id))?.pids ?? 0).toBeLessThanOrEqual(5);
    });

    it("measures, and changes limits while it runs", async () => {
      const spec = await bench().started({
        args: ["sleep", "100"],
        resources: { memoryLimitBytes: 64 * 1024 * 1024, cpuShares: 512 },
      });
      // The runtime's own threads go when it becomes the program.
      await until(async () => (await bench().driver.stats(spec.id))?.pids === 1);
      const usage = await bench().driver.stats(spec.id);
      expect(usage?.cpuNanos).toBeGreaterThan(0);
      expect(usage?.memoryUsageBytes).toBeGreaterThan(0);
      for (const memoryLimitBytes of [128 * 1024 * 1024, 32 * 1024 * 1024]) {
        await bench().driver.updateResources(spec.id, {
          memoryLimitBytes,
          cpuQuota: 50_000,
          cpuPeriod: 100_000,
        });
        expect(bench().memoryLimit(spec.id)).toBe(memoryLimitBytes);
      }
    });
  });
}
