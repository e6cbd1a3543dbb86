import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ContractBench } from "./contract-bench.ts";

export function describePrivileges(bench: () => ContractBench): void {
  describe("privileges", () => {
    const capabilities = async (security: object) => {
      const { log } = await bench().run({
        args: ["grep", "-E", "CapEff|NoNewPrivs|CapInh|CapAmb", "/proc/self/status"],
        security: { ...bench().spec({}).security, ...security },
      });
      return Object.fromEntries(log.map((line) => line.split(/:\s+/)));
    };

    it("has the default set, or what is added and dropped", async () => {
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

    it("gains none when told so", async () => {
      expect(await capabilities({ noNewPrivileges: true })).toMatchObject({ NoNewPrivs: "1" });
    });

    it("has them all when privileged", async () => {
      const own = /CapBnd:\s+(\w+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
      expect((await capabilities({ privileged: true })).CapEff).toBe(own);
    });

    it("filters system calls by default, or says that it cannot", async () => {
      const { log } = await bench().run({
        // The same capability either way: what stops it is the filter alone.
        args: ["sh", "-c", "grep Seccomp: /proc/self/status; unshare -u true 2>&1 && echo allowed"],
        security: { ...bench().spec({}).security, seccomp: { kind: "runtimeDefault" } },
      });
      const filtered = !bench().driver.limitations.some((text) => text.includes("seccomp"));
      expect(log[0]).toMatch(filtered ? /2$/ : /\d$/);
      expect(log[1]).toMatch(/not permitted/);
    });
  });
}
