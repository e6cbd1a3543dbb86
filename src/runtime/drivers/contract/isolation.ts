import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type ContractBench, until } from "./contract-bench.ts";

export function describePrivileges(bench: () => ContractBench): void {
  describe("privileges", () => {
    const capabilities = async (security: object) => {
      const { log } = await bench().run({
        args: ["grep", "-E", "CapEff|NoNewPrivs|CapInh|CapAmb", "/proc/self/status"],
        security: { ...bench().spec({}).security, ...security },
      });
      return Object.fromEntries(log.map((line) => line.split(/:\s+/)));
    };

    it("has the default capabilities with those added and dropped", async () => {
      expect(await capabilities({})).toMatchObject({ CapEff: "00000000a80425fb", NoNewPrivs: "0" });
      expect(await capabilities({ capabilities: { add: ["NET_ADMIN"], drop: ["CHOWN"] } })).toMatchObject({
        CapEff: "00000000a80435fa",
        CapInh: "0000000000000000",
        CapAmb: "0000000000000000",
      });
      expect(await capabilities({ capabilities: { add: ["KILL"], drop: ["ALL"] } })).toMatchObject({
        CapEff: "0000000000000020",
      });
    });

    it("sets no_new_privs when requested", async () => {
      expect(await capabilities({ noNewPrivileges: true })).toMatchObject({ NoNewPrivs: "1" });
    });

    it("has all capabilities when privileged", async () => {
      const own = /CapBnd:\s+(\w+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
      expect((await capabilities({ privileged: true })).CapEff).toBe(own);
    });

    it("filters system calls by default, or reports that it cannot", async () => {
      const { log } = await bench().run({
        // The capabilities are the same either way: only the filter prevents the call.
        args: ["sh", "-c", "grep Seccomp: /proc/self/status; unshare -u true 2>&1 && echo allowed"],
        security: { ...bench().spec({}).security, seccomp: { kind: "runtimeDefault" } },
      });
      const filtered = !bench().driver.limitations.some((text) => text.includes("seccomp"));
      expect(log[0]).toMatch(filtered ? /2$/ : /\d$/);
      expect(log[1]).toMatch(/not permitted/);
    });
  });
}

export function describeLimits(bench: () => ContractBench): void {
  describe("limits", () => {
    it("kills a container that exceeds its memory limit and reports it", async () => {
      const { exitCode, oomKilled } = await bench().run({
        args: ["sh", "-c", "x=a; while true; do x=$x$x; done"],
        resources: { memoryLimitBytes: 16 * 1024 * 1024 },
      });
      expect(exitCode).not.toBe(0);
      expect(oomKilled).toBe(true);
    });

    it("stops a fork bomb", async () => {
      // The limit leaves room for the threads of an OCI runtime's init process, which fails when it cannot create one.
      const pidsLimit = 24;
      const spec = await bench().started({
        args: ["sh", "-c", `for i in $(seq ${2 * pidsLimit}); do sleep 100 & done; sleep 100`],
        resources: { pidsLimit },
      });
      await until(
        async () =>
          (await bench().driver.stats(spec.id))?.pids === pidsLimit || (await bench().exited(spec.id)),
      );
      expect((await bench().driver.stats(spec.id))?.pids ?? 0).toBeLessThanOrEqual(pidsLimit);
    });

    it("reports usage and changes limits of a running container", async () => {
      const spec = await bench().started({
        args: ["sleep", "100"],
        resources: { memoryLimitBytes: 64 * 1024 * 1024, cpuShares: 512 },
      });
      // The runtime's own threads end when it becomes the program.
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
