import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { chooseDriver } from "./choose-driver.ts";
import type { Driver } from "./driver.ts";

/** What a RuntimeClass can name. */
export type Handler =
  | { readonly kind: "works"; readonly name: string; readonly driver: Driver }
  | { readonly kind: "broken"; readonly name: string; readonly problem: string };

/** One that does not work is told of when a pod asks for it: the others' pods need the daemon. */
export async function openHandlers(options: {
  dataDir: string;
  logger: Logger;
  clock: Clock;
  standard: Driver;
  /** By name, an OCI runtime's name or path, or `host`. */
  wanted: ReadonlyMap<string, string>;
  signal?: AbortSignal;
}): Promise<readonly Handler[]> {
  const { dataDir, logger, clock, standard, wanted, signal } = options;
  const directory = join(dataDir, "handlers");
  const handlers: Handler[] = [];
  for (const [name, program] of wanted) {
    if (program === "host" && standard.name === "host") {
      handlers.push({ kind: "works", name, driver: standard });
      continue;
    }
    try {
      const { driver } = await chooseDriver({
        dataDir: join(directory, name),
        logger,
        clock,
        signal,
        ...(program === "host" ? { wanted: "host" } : { wanted: "oci", handler: program }),
      });
      handlers.push({ kind: "works", name, driver });
    } catch (error) {
      signal?.throwIfAborted();
      const problem = messageOf(error);
      logger.warn(`the runtime handler ${name} does not work`, { problem });
      handlers.push({ kind: "broken", name, problem });
    }
  }
  await warnOfForgotten(directory, { wanted, logger });
  return handlers;
}

/** Containers whose handler was taken out of the configuration while they were there. */
async function warnOfForgotten(
  directory: string,
  { wanted, logger }: { wanted: ReadonlyMap<string, string>; logger: Logger },
): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    if (wanted.has(name)) continue;
    const lists = ["oci", "host"].map((kind) =>
      readdir(join(directory, name, kind, "containers")).catch(() => []),
    );
    const left = (await Promise.all(lists)).flat().length;
    if (left > 0)
      logger.warn(
        `${left} containers of the runtime handler ${name} are left, which is not configured any more`,
      );
  }
}
