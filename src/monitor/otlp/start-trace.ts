import { createHash } from "node:crypto";
import { type PodStart, stageTimes } from "../measure/start-signal.ts";

/** Span in OTLP JSON: 64-bit numbers are strings, ids are hexadecimal. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 1;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: 2; readonly message?: string };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

export interface Ending {
  readonly endMs: number;
  /** Reason why the start failed. Undefined on success. */
  readonly failure?: string;
}

/** Creates the trace of a start: a root span, and a child span for each stage and pull whose times are known. */
export function traceOfStart(start: PodStart, { endMs, failure }: Ending): Span[] {
  const { uid } = start.pod;
  const traceId = hexOf(uid, 32);
  const rootId = hexOf(`${uid} start`, 16);
  const fromMs = start.beganMs ?? start.createdMs;
  const root: Span = {
    traceId,
    spanId: rootId,
    name: "pod start",
    kind: 1,
    ...span(fromMs, Math.max(fromMs, endMs)),
    attributes: podAttributes(start),
    status: failure === undefined ? {} : { code: 2, message: failure },
  };
  const child = (
    name: string,
    fromMs: number,
    untilMs: number,
    attributes: readonly Attribute[] = [],
  ): Span => ({
    traceId,
    spanId: hexOf(`${uid} ${name} ${fromMs}`, 16),
    parentSpanId: rootId,
    name: wellFormed(name),
    kind: 1,
    ...span(fromMs, untilMs),
    attributes,
    status: {},
  });
  return [
    root,
    ...stageTimes(start)
      .filter(({ fromMs, untilMs }) => untilMs >= fromMs)
      .map(({ stage, fromMs, untilMs }) => child(stage, fromMs, untilMs)),
    ...start.pulls.flatMap(({ image, seconds, bytes, endedMs }) => {
      if (endedMs === undefined) return [];
      const size = bytes === undefined ? [] : wholeNumber("kindling.image.bytes", bytes);
      // Event times are whole seconds, so the computed start can precede the pod's creation.
      const fromMs = Math.max(start.createdMs, endedMs - seconds * 1_000);
      return [child(`pull ${image}`, fromMs, endedMs, [text("container.image.name", image), ...size])];
    }),
  ];
}

function podAttributes({ pod, class: podClass, restarts, userError }: PodStart): Attribute[] {
  return [
    text("k8s.pod.name", pod.name),
    text("k8s.pod.uid", pod.uid),
    text("k8s.namespace.name", pod.namespace),
    ...(pod.node ? [text("k8s.node.name", pod.node)] : []),
    text("kindling.owner", `${podClass.ownerKind}/${podClass.ownerName}`),
    text("kindling.runtime_class", podClass.runtimeClass),
    text("kindling.storage_classes", podClass.storageClasses.join(",")),
    ...wholeNumber("kindling.restarts", restarts),
    ...Object.entries(podClass.chosen).map(([key, value]) => text(`kindling.pod.${key}`, value)),
    ...(userError === undefined ? [] : [text("kindling.user_error", userError)]),
  ];
}

/** String attribute. Unpaired surrogates are replaced, because a collector would reject the whole request. */
function text(key: string, value: string): Attribute {
  return { key, value: { stringValue: wellFormed(value) } };
}

function wellFormed(value: string): string {
  return Buffer.from(value).toString();
}

/** Integer attribute. Omitted for other numbers, because event messages can contain anything. */
function wholeNumber(key: string, value: number): Attribute[] {
  return Number.isSafeInteger(value) ? [{ key, value: { intValue: String(value) } }] : [];
}

function span(fromMs: number, untilMs: number) {
  return { startTimeUnixNano: nanoseconds(fromMs), endTimeUnixNano: nanoseconds(untilMs) };
}

/** Nanoseconds as text: they exceed the range in which numbers are exact. */
function nanoseconds(ms: number): string {
  return (BigInt(Math.round(ms * 1_000)) * 1_000n).toString();
}

/** Deterministic id, so that a trace that is sent twice can be recognized. */
function hexOf(seed: string, digits: number): string {
  return createHash("sha256").update(seed).digest("hex").slice(0, digits);
}
