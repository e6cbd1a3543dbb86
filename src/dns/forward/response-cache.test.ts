import { type Answer, decode, encode, type Packet } from "dns-packet";
import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { cacheSeconds, createResponseCache } from "./response-cache.ts";

const questions: Packet["questions"] = [{ name: "a.org", type: "A" }];
const a = (ttl: number): Answer => ({ name: "a.org", type: "A", ttl, data: "192.0.2.1" });
const soa = (ttl: number, minimum: number): Answer => ({
  name: "org",
  type: "SOA",
  ttl,
  data: { mname: "ns.org", rname: "x.org", serial: 1, refresh: 1, retry: 1, expire: 1, minimum },
});
const respond = (packet: Packet) => encode({ type: "response", questions, ...packet });

test.each<[name: string, response: Buffer, seconds: number]>([
  ["the lowest TTL", respond({ answers: [a(20), a(10)] }), 10],
  ["at most 30 seconds", respond({ answers: [a(3_600)] }), 30],
  ["a TTL of 0", respond({ answers: [a(0)] }), 0],
  ["NXDOMAIN by the SOA record", respond({ flags: 3, authorities: [soa(25, 15)] }), 15],
  ["NXDOMAIN by the TTL of the SOA record", respond({ flags: 3, authorities: [soa(5, 15)] }), 5],
  ["no records by the SOA record", respond({ authorities: [soa(25, 15)] }), 15],
  ["NXDOMAIN without a SOA record", respond({ flags: 3 }), 0],
  ["SERVFAIL", respond({ flags: 2, answers: [a(20)] }), 0],
  ["a truncated response", respond({ flags: 0x200, answers: [a(20)] }), 0],
  ["a malformed response", respond({ answers: [a(20)] }).subarray(0, -1), 0],
])("cacheSeconds: %s", (_name, response, seconds) => {
  expect(cacheSeconds(response)).toBe(seconds);
});

test("a cached response has the remaining TTLs and ends with the first of them", async () => {
  const clock = createManualClock();
  const cache = createResponseCache(clock);
  cache.set("key", respond({ answers: [a(20), a(10)] }));
  const ttls = () => {
    const message = cache.get("key");
    return message && decode(message).answers?.map((answer) => ("ttl" in answer ? answer.ttl : undefined));
  };
  expect(ttls()).toEqual([20, 10]);
  await clock.advance(4_000);
  expect(ttls()).toEqual([16, 6]);
  expect(ttls()).toEqual([16, 6]);
  await clock.advance(6_000);
  expect(ttls()).toBeUndefined();
});

test("the number of cached responses is bounded", () => {
  const cache = createResponseCache(createManualClock());
  for (let i = 0; i < 2_100; i++) cache.set(String(i), respond({ answers: [a(20)] }));
  expect(cache.size).toBe(2_000);
});
