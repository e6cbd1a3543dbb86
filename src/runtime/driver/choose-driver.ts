import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { detectCgroupLayout } from "../../lib/cgroup/cgroup-layout.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Driver } from "./driver.ts";
import { DriverError } from "./driver-error.ts";
import { findProgram } from "./find-program.ts";
import { createHostDriver } from "./host/host-driver.ts";
import { outputWaitsForDaemon } from "./monitor/output-pumps.ts";
import { createOciDriver } from "./oci/oci-driver.ts";
import { findReaper } from "./oci/perl-reaper.ts";
import { probeOciRuntime } from "./oci/probe-oci-runtime.ts";

export interface DriverWish {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly wanted: "auto" | "oci" | "host";
  /** A RuntimeClass handler: the name or path of another OCI runtime. */
  readonly handler?: string;
  /** Who stays with a container of an OCI runtime: conmon where it is installed, unless told. */
  readonly monitor?: "conmon" | "shell";
  readonly clock?: Clock;
  /** Nobody wants to know any more. */
  readonly signal?: AbortSignal;
}

export interface DriverChoice {
  readonly driver: Driver;
  /** The OCI runtime behind it: `runc`. */
  readonly program?: string;
  /** Which driver, and why, in one sentence. */
  readonly reason: string;
}

/** Finds what works on this machine. */
export async function chooseDriver(wish: DriverWish): Promise<DriverChoice> {
  const clock = wish.clock ?? systemClock;
  const layout = detectCgroupLayout();
  const refusals: string[] = [];
  await mkdir(wish.dataDir, { recursive: true, mode: 0o711 });

  if (wish.wanted !== "host") {
    const conmon = wish.monitor === "shell" ? undefined : findProgram("conmon");
    const own = wish.monitor === "conmon" ? undefined : findReaper();
    for (const name of wish.handler ? [wish.handler] : ["runc", "crun"]) {
      const path = findProgram(name);
      if (!path) {
        refusals.push(`${name} is not installed`);
        continue;
      }
      const problem = await probeOciRuntime({ path, dir: wish.dataDir, layout, clock, signal: wish.signal });
      if (problem) {
        refusals.push(`${name} does not work here (${problem})`);
        continue;
      }
      if (!conmon && !own) {
        refusals.push(`${name} works, but neither conmon nor perl, to wait for its containers, is installed`);
        continue;
      }
      const program = name.split("/").at(-1) ?? name;
      const driver = await createOciDriver({
        stateDir: join(wish.dataDir, "oci"),
        runtime: { name: program, path },
        conmon,
        layout,
        clock,
        logger: wish.logger,
        limitations: conmon ? conmonLimitations() : [outputWaitsForDaemon],
      });
      const monitor = conmon ?? `a shell of our own as monitor, as ${missingConmon(wish)}`;
      return {
        ...chosen(wish.logger, driver, [`${path} works here, with ${monitor}`, ...refusals]),
        program,
      };
    }
  }
  if (wish.wanted !== "oci" && !wish.handler) {
    const { logger } = wish;
    const driver = await createHostDriver({ stateDir: join(wish.dataDir, "host"), layout, clock, logger });
    return chosen(wish.logger, driver, [refusals.length > 0 ? refusals.join("; ") : "as asked"]);
  }
  throw new DriverError("unsupported", `no way to run containers: ${refusals.join("; ")}`);
}

function conmonLimitations(): string[] {
  return findProgram("perl") ? [] : ["Attach needs perl, which is not installed."];
}

function missingConmon({ monitor }: DriverWish): string {
  return monitor === "shell" ? "asked" : "conmon is not installed";
}

function chosen(logger: Logger, driver: Driver, reasons: readonly string[]): DriverChoice {
  const reason = `driver ${driver.name}: ${reasons.join("; ")}`;
  logger.info(reason, { limitations: driver.limitations });
  return { driver, reason };
}
