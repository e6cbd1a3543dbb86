import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { detectCgroupLayout } from "../../lib/cgroup/cgroup-layout.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Driver, DriverError } from "./driver.ts";
import { findProgram } from "./find-program.ts";
import { createHostDriver } from "./host/host-driver.ts";
import { outputWaitsForDaemon } from "./monitor/output-pumps.ts";
import { createOciDriver } from "./oci/oci-driver.ts";
import { findReaper } from "./oci/perl-reaper.ts";
import { probeOciRuntime } from "./oci/probe-oci-runtime.ts";

export interface DriverOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly wanted: "auto" | "oci" | "host";
  /** Name or path of another OCI runtime, for a RuntimeClass handler. */
  readonly handler?: string;
  /** Monitor of an OCI runtime's containers. Defaults to conmon where it is installed. */
  readonly monitor?: "conmon" | "shell";
  readonly clock?: Clock;
  /** Cancels the probes of runtimes. */
  readonly signal?: AbortSignal;
}

export interface DriverChoice {
  readonly driver: Driver;
  /** Name of the OCI runtime: `runc`. */
  readonly program?: string;
  /** Sentence that explains the choice. */
  readonly reason: string;
}

/** Chooses a driver that works on this machine. */
export async function chooseDriver(options: DriverOptions): Promise<DriverChoice> {
  const clock = options.clock ?? systemClock;
  const layout = detectCgroupLayout();
  const refusals: string[] = [];
  await mkdir(options.dataDir, { recursive: true, mode: 0o711 });

  if (options.wanted !== "host") {
    const conmon = options.monitor === "shell" ? undefined : findProgram("conmon");
    const own = options.monitor === "conmon" ? undefined : findReaper();
    for (const name of options.handler ? [options.handler] : ["runc", "crun"]) {
      const path = findProgram(name);
      if (!path) {
        refusals.push(`${name} is not installed`);
        continue;
      }
      const problem = await probeOciRuntime({
        path,
        dir: options.dataDir,
        layout,
        clock,
        signal: options.signal,
      });
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
        stateDir: join(options.dataDir, "oci"),
        runtime: { name: program, path },
        conmon,
        layout,
        clock,
        logger: options.logger,
        limitations: conmon ? conmonLimitations() : [outputWaitsForDaemon],
      });
      const monitor = conmon ?? `a shell of our own as monitor, as ${missingConmon(options)}`;
      return {
        ...chosen(options.logger, driver, [`${path} works here, with ${monitor}`, ...refusals]),
        program,
      };
    }
  }
  if (options.wanted !== "oci" && !options.handler) {
    const { logger } = options;
    const driver = await createHostDriver({ stateDir: join(options.dataDir, "host"), layout, clock, logger });
    return chosen(options.logger, driver, [refusals.length > 0 ? refusals.join("; ") : "as requested"]);
  }
  throw new DriverError("unsupported", `no way to run containers: ${refusals.join("; ")}`);
}

function conmonLimitations(): string[] {
  return findProgram("perl") ? [] : ["Attach needs perl, which is not installed."];
}

function missingConmon({ monitor }: DriverOptions): string {
  return monitor === "shell" ? "requested" : "conmon is not installed";
}

function chosen(logger: Logger, driver: Driver, reasons: readonly string[]): DriverChoice {
  const reason = `driver ${driver.name}: ${reasons.join("; ")}`;
  logger.info(reason, { limitations: driver.limitations });
  return { driver, reason };
}
