import { afterAll, beforeAll } from "vitest";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import { describeWithTool, hasTool } from "../programs/tools.ts";
import { describeRepetition } from "../vitest/slow.ts";
import { type CriRuntime, startCriRuntime } from "./cri-runtime.ts";

type Driver = "oci" | "host";

export interface DrivenRuntime {
  readonly driver: Driver;
  /** Available from the first test on, like the client. */
  runtime(): CriRuntime;
  client(): CriClient;
}

/** Declares the tests once for each driver, on its own runtime. */
export function describeWithDrivers(name: string, suite: (host: DrivenRuntime) => void): void {
  describeWithTool("busybox", name, () => describeEachDriver((driver) => suite(useRuntime(driver))));
}

/** Declares the tests once for each driver. `npm test` runs those of the driver host only where oci cannot run. */
export function describeEachDriver(suite: (driver: Driver) => void): void {
  describeWithTool("conmon", "with the driver oci", () => suite("oci"));
  describeRepetition("with the driver host", { first: hasTool("conmon") }, () => suite("host"));
}

function useRuntime(driver: Driver): DrivenRuntime {
  let runtime: CriRuntime;
  beforeAll(async () => {
    runtime = await startCriRuntime({ driver });
  });
  afterAll(() => runtime?.stop());
  return { driver, runtime: () => runtime, client: () => runtime.client };
}

/** Container command that runs until SIGTERM and then exits with 7. */
export const sleepy = { command: ["sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.05; done"] };
