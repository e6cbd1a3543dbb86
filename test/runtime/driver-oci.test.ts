import { realpathSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createContractBench, readLog } from "../../src/runtime/drivers/contract/contract-bench.ts";
import { describeDriverContract } from "../../src/runtime/drivers/driver.contract.ts";
import type { Driver } from "../../src/runtime/drivers/driver.ts";
import { createOciDriver } from "../../src/runtime/drivers/oci/oci-driver.ts";
import { findReaper } from "../../src/runtime/drivers/oci/perl-reaper.ts";
import { makeGatedHandler } from "../support/cri/gated-handler.ts";
import { describeWithTool, hasTool, toolPath } from "../support/programs/tools.ts";
import { describeRepetition } from "../support/vitest/slow.ts";

describeWithTool("runc", "the oci driver with runc", () => {
  describeWithTool("busybox", "and busybox", () => {
    describeWithTool("conmon", "watched by conmon", () => keepsContract(() => toolPath("conmon")));
    const name = "watched by a shell of our own";
    if (findReaper())
      describeRepetition(name, { first: hasTool("conmon") }, () => keepsContract(() => undefined));
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

describeWithTool("runc", "a container whose monitor is no longer the daemon's default", () => {
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

describeWithTool("runc", "a runtime that hangs in create", () => {
  describeWithTool("conmon", "watched by conmon", () => diesWithItsCall(() => toolPath("conmon")));
  describe.runIf(findReaper())("watched by a shell of our own", () => diesWithItsCall(() => undefined));
});

function diesWithItsCall(findConmon: () => string | undefined): void {
  it("is killed when the call is aborted, and leaves nothing", async () => {
    const handler = makeGatedHandler();
    const runtime = { name: "gated-runtime", path: handler.path };
    const open = (stateDir: string) => openOci(stateDir, findConmon(), runtime);
    const bench = await createContractBench({ open, busybox: toolPath("busybox") });
    try {
      const annotations = { "io.kubernetes.cri.container-type": "sandbox" };
      const spec = bench.spec({ args: ["sleep", "100"], annotations });
      const abort = new AbortController();
      handler.hold();
      const creating = bench.driver.create(spec, { signal: abort.signal });
      const failed = expect(creating).rejects.toThrow("not wanted");
      await expect.poll(() => handler.waiting().length, { timeout: 30_000 }).toBe(1);
      abort.abort(new Error("not wanted"));
      await failed;
      expect(handler.waiting()).toEqual([]);
      expect(bench.traces(spec.id)).toEqual([]);
      handler.open();
      await bench.driver.create(spec);
      await bench.driver.start(spec.id);
      expect((await bench.driver.state(spec.id)).kind).toBe("running");
    } finally {
      await bench.dispose();
      handler.remove();
    }
  });
}

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

function openOci(
  stateDir: string,
  conmon: string | undefined,
  runtime = { name: "runc", path: toolPath("runc") },
): Promise<Driver> {
  return createOciDriver({
    stateDir,
    runtime,
    conmon,
    layout: detectCgroupLayout(),
    clock: systemClock,
    limitations: [],
  });
}
