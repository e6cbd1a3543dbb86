import { bundle } from "./bundle.ts";

/** The unpack process alone, for a runtime inside the test's own process. */
export function unpackProgram(): Promise<string> {
  return bundle("src/runtime/snapshots/unpack-process.ts");
}
