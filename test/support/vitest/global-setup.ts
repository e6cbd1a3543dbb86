import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { makeProgramsFolder } from "../programs/programs-folder.ts";

/** Programs that tests start in separate processes are bundled once for all test files of a run. */
export default function setup(project: TestProject): () => void {
  const { path, remove } = makeProgramsFolder();
  project.onTestsRerun(() => {
    // The source has changed.
    for (const name of readdirSync(path)) {
      if (name !== "node_modules") rmSync(join(path, name), { recursive: true });
    }
  });
  return remove;
}
