import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { type ContractBench, createContractBench, type DriverContract } from "./contract/contract-bench.ts";
import { describeExec } from "./contract/exec.ts";
import { describeFiles } from "./contract/files.ts";
import { describeLife } from "./contract/life.ts";
import { describeLimits } from "./contract/limits.ts";
import { describeLogs } from "./contract/logs.ts";
import { describePrivileges } from "./contract/privileges.ts";
import { describeProgram } from "./contract/program.ts";
import { describeRestart } from "./contract/restart.ts";
import { describeStreams } from "./contract/streams.ts";

/** What the rest of the runtime rests on, whichever driver runs the containers. */
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
