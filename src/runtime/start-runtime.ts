import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { reconcile } from "./containers/reconcile.ts";
import { serveControl } from "./control-server.ts";
import { serveCri } from "./cri/cri-server.ts";
import type { Driver } from "./drivers/driver.ts";
import { searchPath } from "./drivers/find-program.ts";
import { chooseDriver, createHandlerDriver, type Handler, openHandlers } from "./drivers/open-handlers.ts";
import { createImages } from "./images/create-images.ts";
import { chooseNetwork, type NetworkOptions } from "./networks/choose-network.ts";
import type { Network } from "./networks/network.ts";
import { noConfig, type RuntimeConfig } from "./runtime-config.ts";
import { claimDataDir } from "./state/claim-data-dir.ts";
import { openRuntimeState } from "./state/runtime-state.ts";

export interface RuntimeOptions {
  readonly dataDir: string;
  /** `unix:///path` */
  readonly listen: string;
  readonly driver: "auto" | "oci" | "host";
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Path of the built unpack program. Defaults to the one beside the command. */
  readonly unpackProgram?: string;
  /** Configuration of the operator: registries, handlers. */
  readonly config?: RuntimeConfig;
  readonly network?: Pick<NetworkOptions, "wanted" | "cniConfDir" | "bridge" | "subnet">;
  /** Aborts a start in progress with its reason; parts that have started are closed. */
  readonly signal?: AbortSignal;
}

export interface RunningRuntime {
  readonly driver: { readonly name: string; readonly program?: string; readonly reason: string };
  readonly network: Pick<Network, "name" | "prepare"> & { readonly reason: string };
  /** Stops serving. Containers keep running; the next start takes them over. */
  close(): Promise<void>;
}

/** Starts the runtime: chooses the parts for this machine, recovers the state of the previous run, then serves calls. */
export async function startRuntime(options: RuntimeOptions): Promise<RunningRuntime> {
  const { dataDir, listen, logger, clock = systemClock, config = noConfig, signal } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  // For all programs that are run by name from here on, including shells and their scripts.
  process.env.PATH = searchPath();
  const claim = await claimDataDir(dataDir);
  const stopping = new AbortController();
  // The wait for each container's exit adds a listener.
  setMaxListeners(0, stopping.signal);
  // In the order in which they are closed.
  const opened: { close(): Promise<void> }[] = [{ close: () => claim.release() }];
  const close = async () => {
    stopping.abort(new Error("the runtime stops"));
    for (const part of opened) await part.close();
    opened.length = 0;
  };
  try {
    const images = await createImages({
      dataDir: join(dataDir, "images"),
      logger,
      unpackProgram: options.unpackProgram,
      registries: config.registries,
      pinned: config.pinnedImages,
    });
    opened.unshift(images);
    const [chosenDriver, chosenNetwork] = await Promise.all([
      chooseDriver({ dataDir: join(dataDir, "driver"), logger, wanted: options.driver, clock, signal }),
      chooseNetwork({
        dataDir,
        logger,
        clock,
        wanted: options.network?.wanted,
        cniConfDir: options.network?.cniConfDir,
        bridge: options.network?.bridge,
        subnet: options.network?.subnet,
      }),
    ]);
    const { network } = chosenNetwork;
    const handlers = await openHandlers({
      dataDir: join(dataDir, "driver"),
      logger,
      clock,
      standard: chosenDriver.driver,
      wanted: config.handlers,
      signal,
    });
    const driver = createHandlerDriver(chosenDriver.driver, workingDrivers(handlers));
    opened.unshift(driver, network);
    const state = await openRuntimeState({
      dataDir,
      images,
      driver,
      handlers,
      network,
      clock,
      logger,
      stopping: stopping.signal,
    });
    await reconcile(state);
    signal?.throwIfAborted();
    opened.unshift(await serveControl(dataDir, images));
    const server = await serveCri(state, {
      listen,
      info: {
        choices: { driver: chosenDriver.reason, network: chosenNetwork.reason },
        config: { dataDir, listen, driver: options.driver },
      },
    });
    opened.unshift({
      async close() {
        state.events.close();
        await server.close();
        await state.exitWatches.settled();
      },
    });
    return {
      driver: { name: driver.name, program: chosenDriver.program, reason: chosenDriver.reason },
      network: { name: network.name, reason: chosenNetwork.reason, prepare: network.prepare },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function workingDrivers(handlers: readonly Handler[]): ReadonlyMap<string, Driver> {
  return new Map(
    handlers.flatMap((handler) => (handler.kind === "works" ? [[handler.name, handler.driver]] : [])),
  );
}
