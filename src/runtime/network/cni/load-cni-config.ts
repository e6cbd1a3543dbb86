import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { type CniConfig, parseCniConfig } from "./cni-config.ts";

/**
 * The configuration in force: the first file by name, as other runtimes take it. Undefined where there is none. A
 * broken first file is an error and not skipped: a pod must not land in another network by a typing mistake.
 */
export async function loadCniConfig(directory: string): Promise<CniConfig | undefined> {
  const names = await readdir(directory).catch(() => []);
  const first = names.filter((name) => [".conf", ".conflist", ".json"].includes(extname(name))).sort()[0];
  if (first === undefined) return undefined;
  const path = join(directory, first);
  return parseCniConfig(await readFile(path, "utf8"), path);
}
