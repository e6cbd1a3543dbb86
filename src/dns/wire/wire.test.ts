import { type Answer, decode, encode, type Packet } from "dns-packet";
import { expect, test } from "vitest";
import { encodeRejection, parseQuery, type Query, rcodes } from "./query.ts";
import { locateRecords } from "./records.ts";
import { encodeResponse, maxTcpBytes, type Response, udpLimit } from "./response.ts";

const name = "Web.Default.svc.cluster.local";
const opt = (udpPayloadSize: number, more = {}): Answer => ({
  name: ".",
  type: "OPT",
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
  ...more,
});

function queryOf(packet: Packet = {}): Query {
  const message = encode({
    type: "query",
    id: 7,
    flags: 0x100,
    questions: [{ name, type: "A" }],
    ...packet,
  });
  const parsed = parseQuery(message);
  if (parsed.kind !== "query") throw new Error(parsed.kind);
  return parsed.query;
}

const empty: Response = {
  rcode: "NOERROR",
  authoritative: true,
  answers: [],
  authorities: [],
  additionals: [],
};
const addresses = (count: number) =>
  Array.from(
    { length: count },
    (_, i): Answer => ({ name: name.toLowerCase(), type: "A", ttl: 5, data: `10.0.${i >> 8}.${i & 255}` }),
  );

test("parseQuery reads name, type and EDNS", () => {
  const query = queryOf({ additionals: [opt(4_096, { flags: 0x80_00 })] });
  expect(query).toMatchObject({
    id: 7,
    recursionDesired: true,
    labels: ["web", "default", "svc", "cluster", "local"],
    type: "A",
    class: "IN",
    edns: { udpSize: 4_096, version: 0, dnssecOk: true },
  });
});

const valid = encode({ type: "query", id: 1, questions: [{ name, type: "A" }] });
const changed = (change: (message: Buffer) => void) => {
  const message = Buffer.from(valid);
  change(message);
  return message;
};
test.each<[name: string, message: Buffer, outcome: object]>([
  ["an empty message", Buffer.alloc(0), { kind: "drop" }],
  ["half a header", valid.subarray(0, 11), { kind: "drop" }],
  ["a response", changed((m) => m.writeUInt16BE(0x80_00, 2)), { kind: "drop" }],
  ["another opcode", changed((m) => m.writeUInt16BE(0x28_00, 2)), { kind: "reject", rcode: "NOTIMP" }],
  ["a header alone", valid.subarray(0, 12), { kind: "reject", rcode: "FORMERR" }],
  ["no question", changed((m) => m.writeUInt16BE(0, 4)), { kind: "reject", rcode: "FORMERR" }],
  ["65,535 answers", changed((m) => m.writeUInt16BE(0xff_ff, 6)), { kind: "reject", rcode: "FORMERR" }],
  ["a missing record", changed((m) => m.writeUInt16BE(1, 10)), { kind: "reject", rcode: "FORMERR" }],
  [
    "a name that points at itself",
    changed((m) => m.writeUInt16BE(0xc0_0c, 12)),
    { kind: "reject", rcode: "FORMERR" },
  ],
  ["a truncated question", valid.subarray(0, -2), { kind: "reject", rcode: "FORMERR" }],
  ["a long message", Buffer.concat([valid, Buffer.alloc(1_300)]), { kind: "reject", rcode: "FORMERR" }],
])("parseQuery: %s", (_name, message, outcome) => {
  expect(parseQuery(message)).toEqual(outcome);
});

test("a dot inside a label does not separate labels", () => {
  const message = changed((m) => m.write(".", 13));
  expect(parseQuery(message)).toMatchObject({
    query: { labels: ["\\.eb", "default", "svc", "cluster", "local"] },
  });
});

test("a rejection has the ID and only a header", () => {
  const rejection = encodeRejection(valid, rcodes.FORMERR);
  expect(rejection).toHaveLength(12);
  expect(decode(rejection)).toMatchObject({ id: 1, type: "response", rcode: "FORMERR", questions: [] });
});

test("encodeResponse repeats the question as received and compresses owner names", () => {
  const query = queryOf();
  const additional: Answer = { name: "a.svc.cluster.local", type: "A", ttl: 5, data: "10.0.0.9" };
  const response = { ...empty, answers: addresses(2), additionals: [additional, additional] };
  const message = encodeResponse(query, response, maxTcpBytes);
  expect(decode(message)).toMatchObject({
    id: 7,
    flag_aa: true,
    flag_rd: true,
    flag_ra: true,
    flag_tc: false,
    questions: [{ name }],
    answers: [{ name, ttl: 5, data: "10.0.0.0" }, { data: "10.0.0.1" }],
    additionals: [
      { name: "a.svc.cluster.local", data: "10.0.0.9" },
      { name: "a.svc.cluster.local", data: "10.0.0.9" },
    ],
  });
  // 16 bytes for each answer; the second additional record is a pointer to the name of the first.
  expect(message).toHaveLength(12 + query.question.length + 2 * 16 + (4 + 14) + 16);
});

test.each<[name: string, packet: Packet, fits: number]>([
  ["without EDNS: 512 bytes", {}, 29],
  ["with EDNS: the client's size", { additionals: [opt(1_000)] }, 58],
  ["with EDNS: at most 1,232 bytes", { additionals: [opt(65_535)] }, 73],
  ["with EDNS: at least 512 bytes", { additionals: [opt(100)] }, 28],
])("a response over UDP is truncated %s", (_name, packet, fits) => {
  const query = queryOf(packet);
  const message = encodeResponse(query, { ...empty, answers: addresses(200) }, udpLimit(query));
  expect(message.length).toBeLessThanOrEqual(udpLimit(query));
  const decoded = decode(message);
  expect(decoded.flag_tc).toBe(true);
  expect(decoded.answers).toHaveLength(fits);
  const whole = decode(encodeResponse(query, { ...empty, answers: addresses(200) }, maxTcpBytes));
  expect(whole.flag_tc).toBe(false);
  expect(whole.answers).toHaveLength(200);
});

test("additional records that do not fit are omitted without truncation", () => {
  const query = queryOf();
  const message = encodeResponse(query, { ...empty, additionals: addresses(200) }, udpLimit(query));
  expect(decode(message).flag_tc).toBe(false);
});

test("an extended response code is in the OPT record", () => {
  const query = queryOf({ additionals: [opt(512, { ednsVersion: 1 })] });
  const message = encodeResponse(query, { ...empty, rcode: "BADVERS" }, udpLimit(query));
  expect(decode(message)).toMatchObject({
    rcode: "NOERROR",
    additionals: [{ type: "OPT", extendedRcode: 1 }],
  });
});

test("locateRecords finds records behind compressed names and rejects cut messages", () => {
  const query = queryOf({ additionals: [opt(4_096)] });
  const message = encodeResponse(query, { ...empty, answers: addresses(3) }, maxTcpBytes);
  const places = locateRecords(message);
  expect(places?.map(({ section, type }) => `${section} ${type}`)).toEqual([
    "answer 1",
    "answer 1",
    "answer 1",
    "additional 41",
  ]);
  expect(places?.[0]?.ttl).toBe(5);
  for (let length = 0; length < message.length; length++)
    expect(locateRecords(message.subarray(0, length))).toBeUndefined();
});
