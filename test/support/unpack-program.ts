import { bundle } from "./bundle.ts";

/** The unpack process, bundled once per test process. */
let bundled: Promise<string> | undefined;

export function unpackProgram(): Promise<string> {
  bundled ??= bundle("src/runtime/snapshot/unpack-process.ts");
  return bundled;
}
