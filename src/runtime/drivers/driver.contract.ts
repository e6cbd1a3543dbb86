import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { type ContractBench, createContractBench, type DriverContract } from "./contract/contract-bench.ts";
import { describeExec, describeStreams } from "./contract/exec.ts";
import { describeFiles } from "./contract/files.ts";
import { describeLimits, describePrivileges } from "./contract/isolation.ts";
import { describeLife, describeRestart } from "./contract/life.ts";
import { describeLogs, describeProgram } from "./contract/program.ts";

/** Contract that every driver fulfils. */
export function describeDriverContract(name: string, contract: DriverContract): void {
  describe(name, () => {
    let bench: ContractBench;
    beforeAll(async () => {
      bench = await createContractBench(contract);
    });
    afterEach(() => bench.clear());
    afterAll(() => bench.dispose());

    describeLife(() => bench);
    describeProgram(() => bench);
    describeFiles(() => bench);
    describePrivileges(() => bench);
    if (!contract.withoutControllers) describeLimits(() => bench);
    describeLogs(() => bench);
    describeStreams(() => bench);
    describeExec(() => bench);
    describeRestart(() => bench);
  });
}
