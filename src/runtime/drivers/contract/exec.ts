import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ContractBench, joinParts, readLog, until, untilResized } from "./contract-bench.ts";

export function describeExec(bench: () => ContractBench): void {
  describe("exec", () => {
    it("runs a program in the container and returns its output and exit code", async () => {
      const spec = await bench().started({
        args: ["sleep", "100"],
        env: ["PATH=/bin", "WHO=me"],
        hostname: "inside",
      });
      const { out, err, exitCode } = await bench().exec(spec.id, [
        "sh",
        "-c",
        "hostname; echo $WHO >&2; exit 3",
      ]);
      expect({ out, err, exitCode }).toEqual({ out: "inside\n", err: "me\n", exitCode: 3 });
    });

    it("has no open files except its three streams", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      const { out } = await bench().exec(spec.id, ["ls", "/proc/self/fd"]);
      expect(out).toBe("0\n1\n2\n3\n");
    });

    it("passes input", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      const { out, exitCode } = await bench().exec(spec.id, ["wc", "-c"], { input: "x".repeat(200_000) });
      expect({ out: out.trim(), exitCode }).toEqual({ out: "200000", exitCode: 0 });
    });

    it("provides a terminal with a size", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      const process = await bench().driver.exec(spec.id, {
        args: ["sh", "-c", `${untilResized}; read x; echo got $x $TERM; exit 4`],
        terminal: true,
        stdin: true,
      });
      let out = "";
      process.stdout.on("data", (chunk) => {
        out += String(chunk);
      });
      process.stdout.resume();
      await process.resize(101, 37);
      await until(() => out.includes("resized"));
      process.stdin?.write("word\n");
      expect(await process.exitCode).toBe(4);
      expect(out).toMatch(/got word xterm/);
    });

    it("rejects a missing program and a container that is not running", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      await expect(bench().exec(spec.id, ["no-such-program"])).rejects.toThrow(/not found/);
      await bench().driver.kill(spec.id, "KILL");
      await bench().wait(spec.id);
      await expect(bench().exec(spec.id, ["true"])).rejects.toThrow(/exited/);
    });

    it("has the container's limits on privileges", async () => {
      const spec = await bench().started({
        args: ["sleep", "100"],
        user: { uid: 1234, gid: 2345, additionalGids: [] },
        security: {
          ...bench().spec({}).security,
          capabilities: { add: [], drop: ["ALL"] },
          noNewPrivileges: true,
        },
      });
      const { out } = await bench().exec(spec.id, [
        "sh",
        "-c",
        "id -u; grep -E 'CapBnd|NoNewPrivs' /proc/self/status",
      ]);
      expect(out).toMatch(/^1234\n/);
      expect(out).toMatch(/CapBnd:\s+0{16}/);
      expect(out).toMatch(/NoNewPrivs:\s+1/);
    });

    it("is killed with everything it started", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      const abort = new AbortController();
      // Duration that identifies this test's sleep processes among others on the host.
      const seconds = 1_000_000 + process.pid;
      const child = await bench().driver.exec(spec.id, {
        args: ["sh", "-c", `setsid sh -c 'sleep ${seconds}.1' & sleep ${seconds}.2 & sleep ${seconds}.3`],
        terminal: false,
        stdin: false,
        signal: abort.signal,
      });
      child.stdout.resume();
      child.stderr?.resume();
      const sleepers = () => bench().processesWith(new RegExp(`^sleep ${seconds}\\.[123] $`));
      await until(() => sleepers().length === 3);
      abort.abort();
      expect(await child.exitCode).toBe(137);
      await until(() => sleepers().length === 0);
      expect((await bench().driver.state(spec.id)).kind).toBe("running");
    });

    it("leaves no zombie when it is killed", async () => {
      const spec = await bench().started({ args: ["sleep", "100"] });
      for (let round = 0; round < 5; round++) {
        const child = await bench().driver.exec(spec.id, {
          args: ["sh", "-c", "echo runs; exec sleep 1000"],
          terminal: false,
          stdin: false,
        });
        child.stderr?.resume();
        await once(child.stdout, "data");
        await child.kill();
        // A process that is just being reaped may be visible for a moment.
        await until(async () => {
          const { out } = await bench().exec(spec.id, ["ps", "-o", "stat,args"]);
          expect(out).toContain("sleep 100");
          return !/^Z/m.test(out);
        });
      }
    });
  });
}

export function describeStreams(bench: () => ContractBench): void {
  describe("streams", () => {
    it("sends output to several clients and accepts their input", async () => {
      const spec = await bench().started({ args: ["cat"], stdin: true });
      const first = await bench().attach(spec.id);
      const second = await bench().attach(spec.id);
      first.streams.stdin?.write("from one\n");
      await until(() => first.out() === "from one\n" && second.out() === "from one\n");
      second.streams.stdin?.write("from two\n");
      await until(() => first.out().endsWith("from two\n"));
      first.streams.close();
      await sleep(100);
      expect((await bench().driver.state(spec.id)).kind).toBe("running");
      second.streams.close();
    });

    it("ends the program's input with the first client's if stdinOnce", async () => {
      const spec = await bench().started({
        args: ["sh", "-c", "cat; echo at end"],
        stdin: true,
        stdinOnce: true,
      });
      const client = await bench().attach(spec.id);
      client.streams.stdin?.write("text\n");
      client.streams.stdin?.end();
      expect((await bench().wait(spec.id)).exitCode).toBe(0);
      expect(readLog(spec.logPath).map(({ text }) => text)).toEqual(["text", "at end"]);
    });

    it("accepts the end of input after the container is gone", async () => {
      const spec = await bench().started({ args: ["cat"], stdin: true, stdinOnce: true });
      const { streams } = await bench().attach(spec.id);
      const { stdin } = streams;
      if (!stdin) throw new Error("it has no input");
      stdin.on("error", () => {});
      const ended = new Promise((resolve) => stdin.once("close", resolve));
      await bench().driver.remove(spec.id);
      stdin.end();
      await ended;
      streams.close();
    });

    it("provides a terminal with a size", async () => {
      const spec = await bench().started({
        args: ["sh", "-c", `tty; ${untilResized}; read x; echo got $x`],
        stdin: true,
        terminal: true,
      });
      const client = await bench().attach(spec.id);
      await client.streams.resize(101, 37);
      client.streams.stdin?.write("word\n");
      await bench().wait(spec.id);
      const text = joinParts(readLog(spec.logPath)).join("\n");
      expect(text).toMatch(/\/dev\/(pts\/\d|console)/);
      expect(text).toMatch(/resized/);
      expect(text).toMatch(/got word/);
    });
  });
}
