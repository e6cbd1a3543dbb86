import { resolve } from "node:path";
import type { Command } from "commander";
import { parseTokenFile } from "../../apiserver/auth/token/token-file.ts";
import { findPortHolder } from "../../cluster/host/ports.ts";
import type { ControlPlaneOptions } from "../../cluster/parts/control-plane.ts";
import { untilAborted } from "../../lib/abort.ts";
import { parseGivenFile } from "../options/command-errors.ts";
import { allowExternalIPsOption, featureGatesOption, listenOption } from "../options/common-options.ts";
import {
  addLimitOptions,
  addStoreOptions,
  type LimitFlags,
  limitsOf,
  type StoreFlags,
  storeOptionsOf,
} from "../options/control-plane-options.ts";
import { addLogOptions, loggerOf } from "../options/log-options.ts";
import { explainStart } from "./explain-start.ts";
import { serveUntilStopped } from "./until-stopped.ts";

export type ControlPlaneFlags = StoreFlags &
  Parameters<typeof loggerOf>[0] &
  Pick<ControlPlaneOptions, "listen" | "kubeconfig"> & {
    featureGates: ControlPlaneOptions["features"];
    tokenAuthFile?: string;
    allowExternalIps: boolean;
  } & LimitFlags;

/** Adds the options of commands that run an API server. */
export function addControlPlaneOptions(command: Command): Command {
  return addLimitOptions(addLogOptions(addStoreOptions(command)))
    .addOption(listenOption("127.0.0.1:6443"))
    .option(
      "--kubeconfig <file>",
      "file to write the administrator's kubeconfig to (default: kubeconfig in the data directory)",
    )
    .option(
      "--token-auth-file <file>",
      'CSV file of bearer tokens, one per line: token,user,uid,"group1,group2"',
    )
    .addOption(allowExternalIPsOption("allow spec.externalIPs of services"))
    .addOption(featureGatesOption());
}

/** Starts an API server or a whole cluster, prints its announcement and serves until SIGINT or SIGTERM. */
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
      limits: limitsOf(flags),
      externalIPs: flags.allowExternalIps ? "allowed" : "denied",
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
