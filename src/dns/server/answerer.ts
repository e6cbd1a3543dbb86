import type { Answer } from "dns-packet";
import type { Logger } from "../../lib/logger.ts";
import type { Forwarder } from "../forward/forwarder.ts";
import type { RecordView } from "../records/record-view.ts";
import { type ClusterResolution, resolve, soaRecord, type Zone } from "../records/resolve.ts";
import { encodeRejection, headerBytes, type ParsedQuery, type Query, rcodes } from "../wire/query.ts";
import { encodeResponse, type Response } from "../wire/response.ts";

/** Answers queries from the records of the cluster or with the help of other servers. */
export interface Answerer {
  answer(query: Query, maxBytes: number): Answered | Promise<Answered>;
}

export interface Answered {
  readonly message: Buffer;
  readonly rcode: number;
  /** Zone of the name, for metrics. */
  readonly zone: string;
  /** CoreDNS' name of the part that answered, for metrics. */
  readonly plugin: "kubernetes" | "forward" | "cache" | "";
  /**
   * Responses for the same query until the records of the cluster change, each with the answers in another order.
   * Undefined if the response must not be reused.
   */
  readonly reusable?: readonly Buffer[];
}

/** Maximum number of orders of the answers, which distribute clients over the endpoints of a headless service. */
const maxOrders = 16;

const empty: Response = {
  rcode: "NOERROR",
  authoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
};

export function createAnswerer(deps: {
  readonly view: RecordView;
  readonly zone: Zone;
  /** Whether the records of the cluster are complete. Until then its names cannot be resolved. */
  readonly isSynced: () => boolean;
  readonly forwarder: Forwarder;
  readonly logger: Logger;
}): Answerer {
  const { view, zone, isSynced, forwarder, logger } = deps;
  const clusterZone = `${zone.domain}.`;

  function fail(query: Query, rcode: keyof typeof rcodes, maxBytes: number, zoneName = "."): Answered {
    const message = encodeResponse(query, { ...empty, rcode }, maxBytes);
    return { message, rcode: rcodes[rcode], zone: zoneName, plugin: "" };
  }

  function answerFromCluster(query: Query, resolution: ClusterResolution, maxBytes: number): Answered {
    const { rcode, answers, additionals } = resolution;
    const isNegative = answers.length === 0 || rcode !== "NOERROR";
    const authorities = isNegative ? [soaRecord(zone)] : [];
    const reusable = rotations(answers).map((rotated) =>
      encodeResponse(
        query,
        { rcode, authoritative: true, answers: rotated, authorities, additionals },
        maxBytes,
      ),
    );
    const [message = Buffer.alloc(0)] = reusable;
    return { message, rcode: rcodes[rcode], zone: clusterZone, plugin: "kubernetes", reusable };
  }

  /** Adds the addresses of the target of an ExternalName service: resolvers in pods do not look for them. */
  async function answerAlias(
    query: Query,
    resolution: ClusterResolution,
    { externalName, maxBytes }: { readonly externalName: string; readonly maxBytes: number },
  ): Promise<Answered> {
    try {
      const { rcode, answers } = await forwarder.lookUp(externalName, query.type);
      const name = (["NOERROR", "NXDOMAIN"] as const).find((known) => rcodes[known] === rcode);
      if (!name) return fail(query, "SERVFAIL", maxBytes, clusterZone);
      const all = [...resolution.answers, ...answers];
      const message = encodeResponse(
        query,
        { ...empty, rcode: name, authoritative: true, answers: all },
        maxBytes,
      );
      return { message, rcode, zone: clusterZone, plugin: "kubernetes" };
    } catch (error) {
      logger.debug("the target of an ExternalName service was not resolved", { externalName, error });
      return fail(query, "SERVFAIL", maxBytes, clusterZone);
    }
  }

  async function answerFromOthers(query: Query, maxBytes: number): Promise<Answered> {
    try {
      const { message, cached } = await forwarder.forward(query);
      const rcode = (message[3] ?? 0) & 0xf;
      const relayed = relay(query, message, maxBytes);
      return { message: relayed, rcode, zone: ".", plugin: cached ? "cache" : "forward" };
    } catch (error) {
      logger.debug("a query was not forwarded", { name: query.labels.join("."), error });
      return fail(query, "SERVFAIL", maxBytes);
    }
  }

  return {
    answer(query, maxBytes) {
      if (query.edns && query.edns.version !== 0) return fail(query, "BADVERS", maxBytes);
      if (query.class !== "IN" || query.type === "AXFR" || query.type === "IXFR")
        return fail(query, "REFUSED", maxBytes);
      if (forwarder.isLoop(query.labels)) return fail(query, "REFUSED", maxBytes);
      const { type } = query;
      const resolution = resolve(view, zone, query);
      const mayBeOwn = resolution.kind === "cluster" || query.labels.at(-1) === "arpa";
      // Negative responses would be wrong, and cached by clients.
      if (mayBeOwn && !isSynced()) return fail(query, "SERVFAIL", maxBytes, clusterZone);
      if (resolution.kind === "outside") return answerFromOthers(query, maxBytes);
      if (type === "ANY" && resolution.rcode === "NOERROR")
        return answerFromCluster(
          query,
          { ...resolution, answers: [minimalAny(query)], additionals: [] },
          maxBytes,
        );
      if (resolution.externalName !== undefined)
        return answerAlias(query, resolution, { externalName: resolution.externalName, maxBytes });
      return answerFromCluster(query, resolution, maxBytes);
    },
  };
}

/** Response to a message that is not a valid query. Undefined if there is none. */
export function rejectionOf(
  message: Buffer,
  parsed: Exclude<ParsedQuery, { kind: "query" }>,
): Buffer | undefined {
  return parsed.kind === "reject" ? encodeRejection(message, rcodes[parsed.rcode]) : undefined;
}

/** Answer to a query of type ANY, which could otherwise be used for amplification (RFC 8482). */
function minimalAny({ labels }: Query): Answer {
  return { name: labels.join("."), type: "HINFO", ttl: 5, data: { cpu: "RFC8482", os: "" } };
}

/** The answers in different orders. Aliases stay in front of what they lead to. */
function rotations(answers: readonly Answer[]): (readonly Answer[])[] {
  const rotates = answers.length > 1 && answers.every(({ type }) => type === "A" || type === "AAAA");
  if (!rotates) return [answers];
  return Array.from({ length: Math.min(answers.length, maxOrders) }, (_, i) => [
    ...answers.slice(i),
    ...answers.slice(0, i),
  ]);
}

/** Adapts the response of another server to the client: ID, question as received, length. */
function relay(query: Query, response: Buffer, maxBytes: number): Buffer {
  const { question } = query;
  const rcode = (response[3] ?? 0) & 0xf;
  const hasQuestion = response.readUInt16BE(4) === 1 && response.length >= headerBytes + question.length;
  if (!hasQuestion || response.length > maxBytes) {
    const name = (Object.keys(rcodes) as (keyof typeof rcodes)[]).find((known) => rcodes[known] === rcode);
    return encodeResponse(query, { ...empty, rcode: name ?? "SERVFAIL", truncated: hasQuestion }, maxBytes);
  }
  response.writeUInt16BE(query.id, 0);
  question.copy(response, headerBytes);
  response[2] = ((response[2] ?? 0) & ~1) | (query.recursionDesired ? 1 : 0);
  return response;
}
