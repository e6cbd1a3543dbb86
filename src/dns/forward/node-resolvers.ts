import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { parseResolvConf } from "../../lib/resolv-conf.ts";
import type { Upstream } from "./exchange.ts";

/** Servers that queries are forwarded to, in order of preference. */
export interface Resolvers {
  current(): Promise<readonly Upstream[]>;
}

const rereadAfterMs = 5_000;
/** As in the C library, further servers are ignored. */
const maxServers = 3;

/** Servers in the node's resolv.conf, which is read again after a change of the network. */
export function createNodeResolvers(options: {
  /** Path of resolv.conf. */
  readonly file: string;
  /** Addresses of this DNS server, to which it must not forward. */
  readonly exclude: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}): Resolvers {
  const { file, clock, logger } = options;
  let read: { readonly atMs: number; readonly servers: Promise<readonly Upstream[]> } | undefined;
  let lastProblem = "";

  function report(problem: string): void {
    if (problem !== "" && problem !== lastProblem)
      logger.warn(`names outside of the cluster do not resolve: ${problem}`);
    lastProblem = problem;
  }

  async function readServers(): Promise<readonly Upstream[]> {
    try {
      const servers = selectServers(await readFile(file, "utf8"), options.exclude);
      report(
        servers.length > 0
          ? ""
          : `${file} has no nameserver other than this server; add one, or name another file with --resolv-conf`,
      );
      return servers;
    } catch (error) {
      report(`${file} cannot be read (${messageOf(error)}); name another file with --resolv-conf`);
      return [];
    }
  }

  return {
    current() {
      const now = clock.now();
      if (!read || now - read.atMs >= rereadAfterMs || now < read.atMs)
        read = { atMs: now, servers: readServers() };
      return read.servers;
    },
  };
}

/** Servers of a resolv.conf without those that are this DNS server. Exported for its test. */
export function selectServers(text: string, exclude: readonly string[]): Upstream[] {
  return parseResolvConf(text)
    .servers.filter((host) => isIP(host) !== 0 && !exclude.includes(host))
    .slice(0, maxServers)
    .map((host) => ({ host, port: 53 }));
}
