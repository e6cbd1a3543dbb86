import { randomBytes, randomInt } from "node:crypto";
import { type Answer, decode, encode, type RecordType } from "dns-packet";
import type { Clock } from "../../lib/clock.ts";
import { joinHostPort } from "../../lib/join-host-port.ts";
import type { Logger } from "../../lib/logger.ts";
import { headerBytes, type Query, rcodes } from "../wire/query.ts";
import { maxUdpBytes } from "../wire/response.ts";
import { exchange, type Upstream } from "./exchange.ts";
import type { ForwardMetrics } from "./forward-metrics.ts";
import type { Resolvers } from "./node-resolvers.ts";
import { createResponseCache } from "./response-cache.ts";

/** Forwards queries for names outside of the cluster to the servers of the node. */
export interface Forwarder {
  /** Returns a response with the ID 0. Rejects if no server responded. */
  forward(query: ForwardedQuery): Promise<Forwarded>;
  /** Resolves a name, for the target of an ExternalName service. */
  lookUp(
    name: string,
    type: string,
  ): Promise<{ readonly rcode: number; readonly answers: readonly Answer[] }>;
  /**
   * Sends each server a query with a random name. A server that sends it back here leads to a loop and is no longer
   * used.
   */
  detectLoops(signal: AbortSignal): Promise<void>;
  /** Whether a query is one of `detectLoops`, which then excludes the server that it was sent to. */
  isLoop(labels: readonly string[]): boolean;
}

type ForwardedQuery = Pick<Query, "question" | "checkingDisabled" | "edns">;

interface Forwarded {
  readonly message: Buffer;
  readonly cached: boolean;
}

/** Maximum number of queries that wait for other servers; further ones fail. */
const maxInFlight = 1_000;
const tryTimeoutMs = 2_000;
/** Servers that failed are tried last for this time. */
const avoidFailedMs = 10_000;
/** Longest response that is decoded for an ExternalName service. */
const maxDecodedBytes = 4_096;

export function createForwarder(deps: {
  readonly resolvers: Resolvers;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ForwardMetrics;
}): Forwarder {
  const { resolvers, clock, logger, metrics } = deps;
  const cache = createResponseCache(clock);
  metrics.cacheSize(() => cache.size);
  const inFlight = new Map<string, Promise<Buffer>>();
  const failedAtMs = new Map<string, number>();
  const looping = new Set<string>();
  const probes = new Map<string, Upstream>();

  async function usable(): Promise<readonly Upstream[]> {
    const servers = (await resolvers.current()).filter((server) => !looping.has(addressOf(server)));
    const hasFailed = (server: Upstream) =>
      clock.now() - (failedAtMs.get(addressOf(server)) ?? Number.NEGATIVE_INFINITY) < avoidFailedMs;
    return [...servers.filter((server) => !hasFailed(server)), ...servers.filter(hasFailed)];
  }

  async function ask(query: ForwardedQuery): Promise<Buffer> {
    let failure: Buffer | undefined;
    for (const server of await usable()) {
      const startedAt = performance.now();
      try {
        const response = await exchange(server, encodeQuery(query), AbortSignal.timeout(tryTimeoutMs));
        const rcode = (response[3] ?? 0) & 0xf;
        metrics.observe(addressOf(server), rcode, (performance.now() - startedAt) / 1_000);
        failedAtMs.delete(addressOf(server));
        if (rcode === rcodes.NOERROR || rcode === rcodes.NXDOMAIN) return response;
        failure ??= response;
      } catch (error) {
        logger.debug("a DNS server of the node did not respond", { server: addressOf(server), error });
        failedAtMs.set(addressOf(server), clock.now());
      }
    }
    if (failure) return failure;
    throw new Error("no DNS server of the node responded");
  }

  function forward(query: ForwardedQuery): Promise<Forwarded> {
    const key = keyOf(query);
    const known = cache.get(key);
    metrics.cacheLookup(known && { rcode: (known[3] ?? 0) & 0xf });
    if (known) return Promise.resolve({ message: known, cached: true });
    // Queries that are equal share one. A loop that was not detected ends here too.
    const pending = inFlight.get(key);
    if (pending) return pending.then((message) => ({ message: Buffer.from(message), cached: false }));
    if (inFlight.size >= maxInFlight) {
      metrics.rejected();
      return Promise.reject(new Error("too many queries wait for the DNS servers of the node"));
    }
    const asked = ask(query)
      .then((message) => {
        message.writeUInt16BE(0, 0);
        cache.set(key, message);
        return message;
      })
      .finally(() => inFlight.delete(key));
    inFlight.set(key, asked);
    return asked.then((message) => ({ message: Buffer.from(message), cached: false }));
  }

  return {
    forward,
    async lookUp(name, type) {
      const question = encodeQuestion(name, type);
      const { message } = await forward({ question, checkingDisabled: false, edns: undefined });
      if (message.length > maxDecodedBytes) throw new Error(`the response for ${name} is too long`);
      return { rcode: (message[3] ?? 0) & 0xf, answers: decode(message).answers ?? [] };
    },
    async detectLoops(signal) {
      const servers = await resolvers.current();
      await Promise.all(
        servers.map(async (server) => {
          const name = `${randomBytes(8).toString("hex")}.${randomBytes(8).toString("hex")}`;
          probes.set(name, server);
          const query = { question: encodeQuestion(name, "HINFO"), checkingDisabled: false, edns: undefined };
          const timeout = AbortSignal.any([signal, AbortSignal.timeout(tryTimeoutMs)]);
          // Only whether the query arrives here matters, not the response.
          await exchange(server, encodeQuery(query), timeout).catch(() => {});
          probes.delete(name);
        }),
      );
    },
    isLoop(labels) {
      const server = labels.length === 2 ? probes.get(labels.join(".")) : undefined;
      if (!server) return false;
      looping.add(addressOf(server));
      logger.error(
        `the DNS server ${addressOf(server)} forwards queries back to this one, so it is not used; remove it from resolv.conf, or name a file with another server with --resolv-conf`,
      );
      return true;
    },
  };
}

function addressOf({ host, port }: Upstream): string {
  return joinHostPort(host, port);
}

/** Key under which equal queries share a response. The case of letters does not matter. */
function keyOf({ question, checkingDisabled, edns }: ForwardedQuery): string {
  const flags = `${checkingDisabled ? "c" : ""}${edns ? "e" : ""}${edns?.dnssecOk ? "d" : ""}`;
  return `${flags} ${question.toString("latin1").toLowerCase()}`;
}

function encodeQuestion(name: string, type: string): Buffer {
  // Types that dns-packet does not know have names like UNKNOWN_65, which it encodes too.
  return encode({ questions: [{ name, type: type as RecordType }] }).subarray(headerBytes);
}

/** Encodes a query with a random ID. Options of the client, which are for the next server only, are left out. */
function encodeQuery({ question, checkingDisabled, edns }: ForwardedQuery): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(randomInt(65_536), 0);
  header[2] = 1;
  header[3] = checkingDisabled ? 0x10 : 0;
  header.writeUInt16BE(1, 4);
  if (!edns) return Buffer.concat([header, question]);
  header.writeUInt16BE(1, 10);
  const opt = Buffer.alloc(11);
  opt.writeUInt16BE(41, 1);
  opt.writeUInt16BE(maxUdpBytes, 3);
  opt.writeUInt16BE(edns.dnssecOk ? 0x80_00 : 0, 7);
  return Buffer.concat([header, question, opt]);
}
