import { readFileSync, renameSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type ContractBench, joinParts, readLog, until } from "./contract-bench.ts";

export function describeProgram(bench: () => ContractBench): void {
  describe("program", () => {
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

    it("has its host name and sees only its own processes", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "hostname; echo $$; ls -d /proc/[0-9]* | wc -l"],
        hostname: "pod-name",
      });
      expect(log.slice(0, 2)).toEqual(["pod-name", "1"]);
      expect(Number(log[2])).toBeLessThan(6);
    });

    it("sees the host's processes in the host's namespace", async () => {
      const { log } = await bench().run({
        args: ["sh", "-c", "echo $$"],
        namespaces: { network: "host", ipc: "host", uts: "host", pid: "host" },
      });
      expect(Number(log[0])).toBeGreaterThan(1);
    });

    it("joins the given network and PID namespaces", async () => {
      const first = await bench().started({ args: ["sleep", "100"], namespaces: bench().ownNamespaces });
      const state = await bench().driver.state(first.id);
      if (state.kind !== "running") throw new Error("not running");
      // The PID is the runtime's own process until it has become the program.
      await until(() => readFileSync(`/proc/${state.pid}/cmdline`, "utf8").includes("sleep"));
      const at = (kind: string) => `/proc/${state.pid}/ns/${kind}`;
      const { log } = await bench().run({
        args: ["sh", "-c", "ls /sys/class/net; grep -l sleep /proc/1/cmdline; hostname"],
        namespaces: { network: at("net"), ipc: at("ipc"), uts: at("uts"), pid: at("pid") },
      });
      expect(log.slice(0, 2)).toEqual(["lo", "/proc/1/cmdline"]);
    });

    it("has no open files except its three streams", async () => {
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

    it("tolerates an oom_score_adj that the machine does not allow", async () => {
      const { log } = await bench().run({ args: ["cat", "/proc/self/oom_score_adj"], oomScoreAdj: -998 });
      expect(Number(log[0])).toBeLessThanOrEqual(0);
    });
  });
}

export function describeLogs(bench: () => ContractBench): void {
  describe("logs", () => {
    it("writes CRI's format with separate streams in order", async () => {
      // The order of two streams is lost if they are read late: each write waits until the previous one is in the log.
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

    it("splits long lines into parts without losing data", async () => {
      const spec = bench().spec({
        args: ["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"],
      });
      await bench().runSpec(spec);
      const lines = readLog(spec.logPath);
      expect(Math.max(...lines.map(({ text }) => text.length))).toBeLessThanOrEqual(16 * 1024);
      expect(joinParts(lines).map((text) => text.length)).toEqual([3_000_000, 3]);
    });

    it("does not let output forge log lines", async () => {
      const spec = bench().spec({
        args: ["printf", "2020-01-01T00:00:00Z stderr F forged\\r\\n\\000bin\\n"],
      });
      await bench().runSpec(spec);
      expect(readLog(spec.logPath).every(({ stream, tag }) => stream === "stdout" && tag === "F")).toBe(true);
    });

    it("continues in a new file after rotation without losing or repeating a line", async () => {
      // Writes lines until SIGTERM, then the number of lines.
      const script =
        "trap 'done=1' TERM; i=0; while [ -z \"$done\" ]; do echo line $i; i=$((i+1)); [ $((i % 100)) = 0 ] && sleep 0.02; done; echo $i lines";
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
