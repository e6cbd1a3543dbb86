import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pauseProgram } from "../../sandboxes/pause-program.ts";
import { systemCallNumbers } from "./perl-reaper.ts";

// A test on one machine does not verify the other's numbers: both are compared with the kernel's own tables in the
// package linux-libc-dev. arm64 has no table and uses the one for new architectures.
const tables = {
  x64: ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"],
  arm64: ["/usr/include/asm-generic/unistd.h"],
};

function readTable(file: string): Map<string, number> {
  const lines = readFileSync(file, "utf8").matchAll(/^#define __NR(?:3264)?_(\w+) (\d+)$/gm);
  return new Map(Array.from(lines, ([, name = "", number]) => [name, Number(number)]));
}

/** Numbers of the calls in the pause program, in order. */
function pauseCalls(arch: string): number[] {
  const code = pauseProgram(arch).subarray(64 + 56);
  if (arch === "x64") {
    // mov eax, NUMBER; syscall
    return Array.from({ length: code.length - 7 }, (_, at) => at)
      .filter((at) => code[at] === 0xb8 && code[at + 5] === 0x0f && code[at + 6] === 0x05)
      .map((at) => code.readUInt32LE(at + 1));
  }
  // movz x8, #NUMBER
  return Array.from({ length: Math.floor(code.length / 4) }, (_, i) => code.readUInt32LE(4 * i))
    .filter((word) => (word & 0xffe0001f) >>> 0 === 0xd2800008)
    .map((word) => (word >>> 5) & 0xffff);
}

describe.each(Object.entries(tables))("system calls by number on %s", (arch, files) => {
  const file = files.find(existsSync);
  const named = file ? it : it.skip;
  const calls = file ? readTable(file) : new Map<string, number>();

  named("in the container's monitor match the kernel [apt-get install linux-libc-dev]", () => {
    expect(systemCallNumbers[arch]).toEqual({ prctl: calls.get("prctl"), recvmsg: calls.get("recvmsg") });
  });

  named("in the pause program match the kernel [apt-get install linux-libc-dev]", () => {
    const wait = arch === "x64" ? "pause" : "ppoll";
    expect(pauseCalls(arch)).toEqual([calls.get("rt_sigaction"), calls.get(wait)]);
  });
});
