import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ContractBench, joinParts, readLog, until, untilResized } from "./contract-bench.ts";

export function describeStreams(bench: () => ContractBench): void {
  describe("streams", () => {
    it("gives several clients the output, and takes input from them", async () => {
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

    it("ends the program's input with the first client's when stdinOnce", async () => {
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

    it("takes the end of an input whose container is already gone", async () => {
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

    it("gives a terminal with a size", async () => {
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
