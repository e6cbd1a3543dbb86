import { resolve } from "node:path";
import type { Command } from "commander";
import { parseTokenFile } from "../apiserver/auth/token/token-file.ts";
import type { ControlPlaneOptions } from "../cluster/control-plane.ts";
import { findPortHolder } from "../cluster/find-port-holder.ts";
import { untilAborted } from "../lib/until-aborted.ts";
import { explainStart } from "./explain-start.ts";
import { featureGatesOption } from "./feature-gates-option.ts";
import { listenOption } from "./listen-option.ts";
import { addLogOptions, loggerOf } from "./log-options.ts";
import { parseGivenFile } from "./read-given-file.ts";
import { addStoreOptions, type StoreFlags, storeOptionsOf } from "./store-options.ts";
import { serveUntilStopped } from "./until-stopped.ts";

export type ControlPlaneFlags = StoreFlags &
  Parameters<typeof loggerOf>[0] &
  Pick<ControlPlaneOptions, "listen" | "kubeconfig"> & {
    featureGates: ControlPlaneOptions["features"];
    tokenAuthFile?: string;
  };

/** The options of every command that has an API server in it. */
export function addControlPlaneOptions(command: Command): Command {
  return addLogOptions(addStoreOptions(command))
    .addOption(listenOption("127.0.0.1:6443"))
    .option(
      "--kubeconfig <file>",
      "where to write the administrator's kubeconfig (default: kubeconfig in the data dir)",
    )
    .option("--token-auth-file <file>", 'bearer tokens, one in each line: token,user,uid,"group1,group2"')
    .addOption(featureGatesOption());
}

/** Starts what holds an API server, says so, and serves until a signal comes. */
export async function runControlPlane<Started extends { close(): Promise<void> }>(
  flags: ControlPlaneFlags,
  start: (options: ControlPlaneOptions) => Promise<Started>,
  announce: (started: Started) => string,
): Promise<void> {
  const { dataDir, listen, kubeconfig, featureGates: features } = flags;
  const store = await storeOptionsOf(flags);
  const staticTokens = await parseGivenFile("--token-auth-file", flags.tokenAuthFile, parseTokenFile);
  await serveUntilStopped(async (signal) => {
    const started = await start({
      dataDir: resolve(dataDir),
      store,
      listen,
      features,
      kubeconfig,
      staticTokens,
      logger: loggerOf(flags),
      signal,
    }).catch(async (error: unknown) => {
      if (signal.aborted) throw error;
      throw await explainStart(error, { dataDir: resolve(dataDir), holderOf: findPortHolder });
    });
    process.stdout.write(announce(started));
    await untilAborted(signal);
    await started.close();
  });
}
