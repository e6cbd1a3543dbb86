import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { kindlingProgram } from "../support/programs/run-kindling.ts";

test.each(["up --help", "features", "completion bash"])(
  "%s ends without an error when its reader has exited",
  async (args) => {
    // The reader exits before the command writes.
    const script = `{ sleep 1; exec "${process.execPath}" "${await kindlingProgram()}" ${args}; } | true`;
    const { stderr } = await promisify(execFile)("bash", ["-c", script]);
    expect(stderr).toBe("");
  },
);
