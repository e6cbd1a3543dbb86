import { bundle } from "./bundle.ts";

/** The unpack process alone, for a runtime inside the test's own process. */
export function unpackProgram(): Promise<string> {
  return bundle("src/runtime/snapshot/unpack-process.ts");
}
