import { isMapping } from "../../lib/is-mapping.ts";
import { type StageName, stages } from "./start-signal.ts";
import {
  type GateState,
  type SandboxState,
  type TrackedPull,
  type TrackedStart,
  untracked,
} from "./tracked-start.ts";

const outcomes = { s: "starting", r: "ready", e: "ended" } as const;
const letters = { starting: "s", ready: "r", ended: "e" } as const;

/** Encodes a start as JSON that contains only differences from `untracked`; empty if there are none. */
export function encodeRecord(state: TrackedStart): string {
  const record: Record<string, unknown> = {};
  if (state.settled.length > 0) record.d = state.settled.map((stage) => stages.indexOf(stage)).join("");
  if (Object.keys(state.ends).length > 0) record.e = stages.map((stage) => state.ends[stage] ?? 0);
  if (state.sandbox.kind === "ready") record.b = state.sandbox.sinceMs;
  if (state.sandbox.kind === "lost") record.l = state.sandbox.sinceMs;
  if (state.outcome !== "starting") record.o = letters[state.outcome];
  if (Object.keys(state.restarts).length > 0) record.r = state.restarts;
  if (state.stuck.length > 0) record.k = state.stuck.map((stage) => stages.indexOf(stage)).join("");
  if (state.pulls.length > 0)
    record.p = state.pulls.map(({ event, image, seconds, bytes, endedMs }) => [
      event,
      image,
      seconds,
      endedMs,
      bytes,
    ]);
  if (state.userError !== undefined) record.u = state.userError;
  if (state.deletionRequestedMs !== undefined) record.a = state.deletionRequestedMs;
  if (state.gates.kind === "held") record.g = true;
  if (state.gates.kind === "released") record[state.gates.missed ? "gm" : "gr"] = state.gates.atMs;
  if (state.crashLooped) record.c = true;
  const text = JSON.stringify(record);
  return text === "{}" ? "" : text;
}

/** Decodes a record. Undefined if it is invalid. */
export function decodeRecord(text: string): TrackedStart | undefined {
  const record = parseObject(text);
  if (!record) return undefined;
  const outcome =
    record.o === undefined
      ? "starting"
      : Object.entries(outcomes).find(([letter]) => letter === record.o)?.[1];
  if (!outcome) return undefined;
  const ends = Array.isArray(record.e) ? record.e : [];
  return {
    ...untracked,
    settled: decodeStages(record.d),
    ends: Object.fromEntries(
      stages.flatMap((stage, i) => (isTime(ends[i]) ? [[stage, ends[i]] as const] : [])),
    ),
    sandbox: decodeSandbox(record),
    outcome,
    restarts: decodeCounts(record.r),
    stuck: decodeStages(record.k),
    pulls: Array.isArray(record.p) ? record.p.flatMap(decodePull) : [],
    userError: typeof record.u === "string" ? record.u : undefined,
    deletionRequestedMs: isTime(record.a) ? record.a : undefined,
    gates: decodeGates(record),
    crashLooped: record.c === true,
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMapping(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function decodeSandbox({ b, l }: Readonly<Record<string, unknown>>): SandboxState {
  if (isTime(b)) return { kind: "ready", sinceMs: b };
  return isTime(l) ? { kind: "lost", sinceMs: l } : { kind: "none" };
}

function decodeGates({ g, gm, gr }: Readonly<Record<string, unknown>>): GateState {
  if (g === true) return { kind: "held" };
  if (isTime(gr)) return { kind: "released", atMs: gr, missed: false };
  return isTime(gm) ? { kind: "released", atMs: gm, missed: true } : { kind: "none" };
}

function decodeStages(value: unknown): readonly StageName[] {
  return typeof value === "string" ? [...value].flatMap((digit) => stages[Number(digit)] ?? []) : [];
}

function decodeCounts(value: unknown): Readonly<Record<string, number>> {
  if (!isMapping(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, count]) => (isTime(count) ? [[name, count]] : [])),
  );
}

function decodePull(value: unknown): TrackedPull[] {
  if (!Array.isArray(value)) return [];
  const [event, image, seconds, endedMs, bytes]: unknown[] = value;
  if (
    typeof event !== "string" ||
    typeof image !== "string" ||
    typeof seconds !== "number" ||
    !isTime(endedMs)
  )
    return [];
  return [{ event, image, seconds, endedMs, bytes: typeof bytes === "number" ? bytes : undefined }];
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}
