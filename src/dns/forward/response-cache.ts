import type { Clock } from "../../lib/clock.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import { rcodes } from "../wire/query.ts";
import { locateRecords, recordTypes } from "../wire/records.ts";

/** Responses of other servers, by question, until their TTL ends. */
export interface ResponseCache {
  /** Returns a copy with the remaining TTLs. */
  get(key: string): Buffer | undefined;
  /** Ignores responses that must not be cached. */
  set(key: string, response: Buffer): void;
  readonly size: number;
}

interface CachedResponse {
  readonly message: Buffer;
  readonly ttlOffsets: readonly number[];
  readonly storedAtMs: number;
  readonly expiresAtMs: number;
}

const maxEntries = 2_000;
/** Longer responses are rare and not cached, so that the cache stays below 8 MB. */
const maxBytes = 4_096;
/** Upper bound of TTLs, so that changes of the machine's network take effect soon. */
const maxTtlSeconds = 30;

export function createResponseCache(clock: Clock): ResponseCache {
  const entries = createLruMap<CachedResponse>(maxEntries);
  return {
    get size() {
      return entries.size;
    },
    get(key) {
      const entry = entries.get(key);
      const now = clock.now();
      if (!entry || now >= entry.expiresAtMs || now < entry.storedAtMs) return undefined;
      const message = Buffer.from(entry.message);
      const ageSeconds = Math.floor((now - entry.storedAtMs) / 1_000);
      for (const offset of entry.ttlOffsets)
        message.writeUInt32BE(Math.max(0, message.readUInt32BE(offset) - ageSeconds), offset);
      return message;
    },
    set(key, response) {
      const ttlSeconds = cacheSeconds(response);
      if (response.length > maxBytes || ttlSeconds <= 0) return;
      const places = locateRecords(response) ?? [];
      const storedAtMs = clock.now();
      entries.set(key, {
        // Copied, because a slice would retain the whole buffer of the socket.
        message: Buffer.from(response),
        ttlOffsets: places.filter(({ type }) => type !== recordTypes.OPT).map(({ ttlOffset }) => ttlOffset),
        storedAtMs,
        expiresAtMs: storedAtMs + ttlSeconds * 1_000,
      });
    },
  };
}

/** Time for which a response may be cached; 0 for failures, and for negative responses without an SOA record. */
export function cacheSeconds(response: Buffer): number {
  const rcode = (response[3] ?? 0) & 0xf;
  const isTruncated = ((response[2] ?? 0) & 2) !== 0;
  const places = locateRecords(response);
  if (!places || isTruncated || (rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN)) return 0;
  const counted = places.filter(({ section, type }) => section !== "additional" && type !== recordTypes.OPT);
  const soa = counted.find(({ section, type }) => section === "authority" && type === recordTypes.SOA);
  const isPositive = rcode === rcodes.NOERROR && places.some(({ section }) => section === "answer");
  if (!isPositive && !soa) return 0;
  // RFC 2308: the last field of the SOA record limits negative responses.
  const minimum =
    !isPositive && soa && soa.dataLength >= 20
      ? response.readUInt32BE(soa.dataOffset + soa.dataLength - 4)
      : maxTtlSeconds;
  return Math.min(maxTtlSeconds, minimum, ...counted.map(({ ttl }) => ttl));
}
