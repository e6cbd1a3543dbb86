import type { Entry } from "../store.ts";
import { expectPart } from "./etcd-error.ts";
import type { Compare, KeyValue, RequestOp, ResponseOp, TxnRequest, TxnResponse } from "./generated/etcd.ts";
import {
  Compare_CompareResult as CompareResult,
  Compare_CompareTarget as CompareTarget,
} from "./generated/etcd.ts";
import type { EtcdKeys } from "./keys.ts";

// Compare-and-set as etcd transactions. A transaction that loses reads the key, to say what it lost to.

export function createTxn(key: Buffer, value: Buffer): TxnRequest {
  return {
    compare: [compareRevision(key, CompareResult.EQUAL, 0)],
    success: [put(key, value)],
    failure: [read(key)],
  };
}

export function updateTxn(key: Buffer, value: Buffer, ifRevision: number): TxnRequest {
  return { compare: presentAt(key, ifRevision), success: [put(key, value)], failure: [read(key)] };
}

export function deleteTxn(key: Buffer, ifRevision: number): TxnRequest {
  const remove: RequestOp = { request: { $case: "requestDeleteRange", value: { key, prevKv: true } } };
  return { compare: presentAt(key, ifRevision), success: [remove], failure: [read(key)] };
}

export type TxnOutcome =
  | { readonly kind: "won"; readonly revision: number; readonly previous: Entry | undefined }
  | { readonly kind: "lost"; readonly current: Entry | undefined };

export function readTxnOutcome(response: TxnResponse, keys: EtcdKeys): TxnOutcome {
  const [kv] = response.responses.map(keyValueOf);
  const entry = kv && keys.toEntry(kv);
  if (!response.succeeded) return { kind: "lost", current: entry };
  return { kind: "won", revision: expectPart(response.header, "a revision").revision, previous: entry };
}

/** To etcd a missing key is at revision 0, so an `ifRevision` of 0 alone would match it. */
function presentAt(key: Buffer, revision: number): Compare[] {
  return [
    compareRevision(key, CompareResult.EQUAL, revision),
    compareRevision(key, CompareResult.GREATER, 0),
  ];
}

function compareRevision(key: Buffer, result: CompareResult, value: number): Compare {
  return { key, target: CompareTarget.MOD, result, targetUnion: { $case: "modRevision", value } };
}

function put(key: Buffer, value: Buffer): RequestOp {
  return { request: { $case: "requestPut", value: { key, value, prevKv: true } } };
}

function read(key: Buffer): RequestOp {
  const rangeEnd = Buffer.alloc(0);
  return {
    request: { $case: "requestRange", value: { key, rangeEnd, limit: 0, revision: 0, countOnly: false } },
  };
}

function keyValueOf({ response }: ResponseOp): KeyValue | undefined {
  switch (response?.$case) {
    case "responseRange":
      return response.value.kvs[0];
    case "responsePut":
      return response.value.prevKv;
    case "responseDeleteRange":
      return response.value.prevKvs[0];
  }
}
