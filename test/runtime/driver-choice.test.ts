import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { silentLogger } from "../../src/lib/logger.ts";
import { chooseDriver, type DriverOptions } from "../../src/runtime/drivers/open-handlers.ts";
import { describeWithTool, isRoot, toolPath } from "../support/programs/tools.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "kindling-choice-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dataDir, { recursive: true, force: true });
});

const choose = (wish: Pick<DriverOptions, "wanted" | "handler" | "monitor">) =>
  chooseDriver({ dataDir, logger: silentLogger, ...wish });

it.skipIf(!isRoot)("uses the host driver if requested, and logs its limitations [needs root]", async () => {
  const { driver, reason } = await choose({ wanted: "host" });
  expect(driver.name).toBe("host");
  expect(reason).toMatch(/as requested/);
  expect(driver.limitations.join(" ")).toMatch(/seccomp/);
  await driver.close();
});

it("refuses a handler that is not there, or that does not work, with the reason", async () => {
  await expect(choose({ wanted: "auto", handler: "gvisor" })).rejects.toThrow(/gvisor is not installed/);
  await expect(choose({ wanted: "oci", handler: "/bin/false" })).rejects.toThrow(
    /\/bin\/false does not work here/,
  );
});

describeWithTool("runc", "without conmon", () => {
  it("uses its own monitor, and logs that and its cost", async () => {
    const { driver, reason } = await choose({ wanted: "auto", monitor: "shell" });
    expect(reason).toMatch(/^driver oci: \S*runc works here, with a shell of our own as monitor/);
    expect(driver.limitations.join(" ")).toMatch(/64 KiB/);
    await driver.close();
  });
});

describeWithTool("runc", "a runtime whose first check fails", () => {
  it("is checked again", async () => {
    const [handler, ready] = [join(dataDir, "mine"), join(dataDir, "ready")];
    const script = `#!/bin/sh\n[ -e ${ready} ] || { echo busy >&2; exit 1; }\nexec ${toolPath("runc")} "$@"\n`;
    writeFileSync(handler, script, { mode: 0o755 });
    await expect(choose({ wanted: "oci", handler })).rejects.toThrow(/does not work here \(busy\)/);
    writeFileSync(ready, "");
    const { driver } = await choose({ wanted: "oci", handler });
    await driver.close();
  });
});

describeWithTool("conmon", "with conmon", () => {
  describeWithTool("runc", "and runc", () => {
    it("prefers runc, and remembers that it works", async () => {
      // In front of the real one: whether it was run.
      const folder = join(dataDir, "bin");
      const calls = join(dataDir, "calls");
      const script = `#!/bin/sh\necho "$@" >> ${calls}\nexec ${toolPath("runc")} "$@"\n`;
      mkdirSync(folder);
      writeFileSync(join(folder, "runc"), script, { mode: 0o755 });
      vi.stubEnv("PATH", [folder, process.env.PATH].join(delimiter));
      const first = await choose({ wanted: "auto" });
      expect(first.reason).toMatch(/^driver oci: \S*runc works here/);
      expect(first.driver.limitations).toEqual([]);
      await first.driver.close();
      expect(existsSync(calls)).toBe(true);
      rmSync(calls);
      const second = await choose({ wanted: "oci" });
      expect(second.reason).toBe(first.reason);
      expect(existsSync(calls)).toBe(false);
      await second.driver.close();
    });
  });
});
