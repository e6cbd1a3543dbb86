import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type ContractBench, until } from "./contract-bench.ts";

export function describeProgram(bench: () => ContractBench): void {
  describe("the program", () => {
    it("has its arguments, environment and directory", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", 'echo "$1|$GREETING|$(pwd)"', "sh", 'it\'s $HOME; `x` "y"'],
        env: ["PATH=/bin", "GREETING=a 'b' $c=d", "EMPTY="],
        workingDir: "/tmp",
      });
      expect(log).toEqual([`it's $HOME; \`x\` "y"|a 'b' $c=d|/tmp`]);
    });

    it("runs as its user with its groups", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "id -u; id -g; id -G; touch /root-only 2>&1"],
        user: { uid: 1234, gid: 2345, additionalGids: [3456, 4567] },
      });
      expect(log.slice(0, 3)).toEqual(["1234", "2345", "2345 3456 4567"]);
      expect(log[3]).toMatch(/denied/);
    });

    it("has its host name, and its own processes only", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "hostname; echo $$; ls -d /proc/[0-9]* | wc -l"],
        hostname: "pod-name",
      });
      expect(log.slice(0, 2)).toEqual(["pod-name", "1"]);
      expect(Number(log[2])).toBeLessThan(6);
    });

    it("sees the host's processes when it shall", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "echo $$"],
        namespaces: { network: "host", ipc: "host", uts: "host", pid: "host" },
      });
      expect(Number(log[0])).toBeGreaterThan(1);
    });

    it("joins network and PID namespaces that it is given", async () => {
      const first = await bench().started({ args: ["sleep", "100"], namespaces: bench().ownNamespaces });
      const state = await bench().driver.state(first.id);
      if (state.kind !== "running") throw new Error("not running");
      // The runtime's own process until it has become the program.
      await until(() => readFileSync(`/proc/${state.pid}/cmdline`, "utf8").includes("sleep"));
      const at = (kind: string) => `/proc/${state.pid}/ns/${kind}`;
      const { log } = await bench().run({
        args: ["sh", "-c", "ls /sys/class/net; grep -l sleep /proc/1/cmdline; hostname"],
        namespaces: { network: at("net"), ipc: at("ipc"), uts: at("uts"), pid: at("pid") },
      });
      expect(log.slice(0, 2)).toEqual(["lo", "/proc/1/cmdline"]);
    });

    it("has no open files but its three streams", async () => {
      const { log } = await bench().run({ args: ["ls", "/proc/self/fd"] });
      // The fourth is the directory that is being listed.
      expect(log).toEqual(["0", "1", "2", "3"]);
    });

    it("gets rlimits", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "ulimit -n; ulimit -Hn"],
        rlimits: [{ type: "RLIMIT_NOFILE", soft: 77, hard: 88 }],
      });
      expect(log).toEqual(["77", "88"]);
    });

    it("gets sysctls of its namespaces", async () => {
      const { log } = await bench().run({
        args: ["cat", "/proc/sys/kernel/shm_rmid_forced"],
        sysctls: { "kernel.shm_rmid_forced": "1" },
      });
      expect(log).toEqual(["1"]);
    });

    it("does not fail for an oom_score_adj that may not be set here", async () => {
      const { log } = await bench().run({ args: ["cat", "/proc/self/oom_score_adj"], oomScoreAdj: -998 });
      expect(Number(log[0])).toBeLessThanOrEqual(0);
    });
  });
}
