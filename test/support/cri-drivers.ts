import { afterAll, beforeAll, describe } from "vitest";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { type CriRuntime, startCriRuntime } from "./cri-runtime.ts";
import { describeWithTool } from "./tools.ts";

type Driver = "oci" | "host";

export interface DrivenRuntime {
  readonly driver: Driver;
  /** Both from the first test on. */
  runtime(): CriRuntime;
  client(): CriClient;
}

/** The tests once with each driver, on a runtime of their own. */
export function describeWithDrivers(name: string, suite: (host: DrivenRuntime) => void): void {
  describeWithTool("busybox", name, () => {
    describeWithTool("conmon", "with the driver oci", () => suite(useRuntime("oci")));
    describe("with the driver host", () => suite(useRuntime("host")));
  });
}

function useRuntime(driver: Driver): DrivenRuntime {
  let runtime: CriRuntime;
  beforeAll(async () => {
    runtime = await startCriRuntime({ driver });
  });
  afterAll(() => runtime?.stop());
  return { driver, runtime: () => runtime, client: () => runtime.client };
}

/** A container's command that goes on until it is told to stop, and then says 7. */
export const sleepy = { command: ["sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.05; done"] };
