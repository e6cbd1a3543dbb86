import { realpathSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createContractBench, readLog } from "../../src/runtime/driver/contract/contract-bench.ts";
import { describeDriverContract } from "../../src/runtime/driver/driver.contract.ts";
import type { Driver } from "../../src/runtime/driver/driver.ts";
import { createOciDriver } from "../../src/runtime/driver/oci/oci-driver.ts";
import { findReaper } from "../../src/runtime/driver/oci/perl-reaper.ts";
import { describeWithTool, toolPath } from "../support/tools.ts";

describeWithTool("runc", "the oci driver with runc", () => {
  describeWithTool("busybox", "and busybox", () => {
    describeWithTool("conmon", "watched by conmon", () => keepsContract(() => toolPath("conmon")));
    describe.runIf(findReaper())("watched by a shell of our own", () => keepsContract(() => undefined));
  });
});

function keepsContract(findConmon: () => string | undefined): void {
  describeDriverContract("keeps the contract", {
    get busybox() {
      return toolPath("busybox");
    },
    open: (stateDir) => openOci(stateDir, findConmon()),
  });
}

describeWithTool("runc", "a container whose monitor is not the daemon's choice any more", () => {
  describeWithTool("conmon", "with conmon", () => {
    it.runIf(findReaper()).each(["comes", "goes"])(
      "stays with its monitor when conmon %s",
      async (change) => {
        const [before, after] =
          change === "comes" ? [undefined, toolPath("conmon")] : [toolPath("conmon"), undefined];
        let conmon = before;
        const open = (stateDir: string) => openOci(stateDir, conmon);
        const bench = await createContractBench({ open, busybox: toolPath("busybox") });
        try {
          const spec = await bench.started({
            args: ["sh", "-c", "read x; echo got $x; exit 3"],
            stdin: true,
          });
          conmon = after;
          await bench.reopen({ pauseMs: 0 });
          const { streams } = await bench.attach(spec.id);
          streams.stdin?.write("it\n");
          expect((await bench.wait(spec.id)).exitCode).toBe(3);
          expect(readLog(spec.logPath).map(({ text }) => text)).toEqual(["got it"]);
          streams.close();
          await bench.driver.remove(spec.id);
          expect(bench.traces(spec.id)).toEqual([]);
        } finally {
          await bench.dispose();
        }
      },
    );
  });
});

describeWithTool("runc", "the default filter of system calls", () => {
  it.runIf(findReaper() && process.arch === "x64")(
    "gives random numbers and the usual sockets, and no way to the kernel's ciphers",
    async () => {
      const open = (stateDir: string) => openOci(stateDir, undefined);
      const bench = await createContractBench({ open, busybox: toolPath("busybox") });
      // getrandom, then sockets: AF_UNIX, AF_INET, AF_ALG, AF_VSOCK.
      const script = `
        my @answers = syscall(318, my $bytes = "x" x 8, 8, 0);
        for my $family (1, 2, 38, 40) {
          my $made = syscall(41, $family, $family == 38 ? 5 : 1, 0) >= 0;
          push @answers, $made ? "yes" : "$!";
        }
        print join("|", @answers), "\\n";`;
      const mounts = ["/usr", "/lib", "/lib64"].map((path) => ({
        ...{ source: realpathSync(path), destination: path, readonly: true },
        ...({ propagation: "private", recursiveReadonly: false } as const),
      }));
      try {
        const { log } = await bench.run({ args: ["/usr/bin/perl", "-e", script], mounts });
        const refused = "Operation not permitted";
        expect(log).toEqual([`8|yes|yes|${refused}|${refused}`]);
      } finally {
        await bench.dispose();
      }
    },
  );
});

function openOci(stateDir: string, conmon: string | undefined): Promise<Driver> {
  return createOciDriver({
    stateDir,
    runtime: { name: "runc", path: toolPath("runc") },
    conmon,
    layout: detectCgroupLayout(),
    clock: systemClock,
    limitations: [],
  });
}
