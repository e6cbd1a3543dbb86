import { expect, test } from "vitest";
import type { ContentSnapshot, Manifest } from "./content-facts.ts";
import {
  initialTracker,
  isStalled,
  type TrackedPull,
  timeoutOnContainerd,
  trackPulls,
  type WantedPull,
} from "./track-pulls.ts";

const digest = (name: string) => `sha256:${name.padEnd(64, "0")}`;
const mib = 2 ** 20;

function manifest(name: string, fields: Partial<Manifest> = {}): Manifest {
  const at = fields.createdMs ?? 10_000;
  return {
    digest: digest(name),
    repositories: ["registry.example.com/app"],
    indexes: [],
    createdMs: at,
    touchedMs: at,
    layers: [
      { digest: digest(`${name}1`), size: 3 * mib },
      { digest: digest(`${name}2`), size: 5 * mib },
    ],
    ...fields,
  };
}

interface Sample {
  readonly ingests?: Readonly<Record<string, number>>;
  readonly stored?: Readonly<Record<string, { createdMs: number; isUnpacked?: boolean }>>;
  readonly manifests?: readonly Manifest[];
}

function snapshot({ ingests = {}, stored = {}, manifests = [] }: Sample): ContentSnapshot {
  return {
    ingests: new Map(
      Object.entries(ingests).map(([name, offset]) => [digest(name), { offset, total: 5 * mib }]),
    ),
    stored: new Map(
      Object.entries(stored).map(([name, layer]) => [digest(name), { isUnpacked: false, ...layer }]),
    ),
    manifests,
  };
}

const pull = (tag: string, startedMs = 10_000): WantedPull => ({
  id: tag,
  image: `registry.example.com:5000/app:${tag}`,
  startedMs,
});

/** Tracks the samples one second apart, the first at 11 s. */
function track(samples: readonly Sample[], wanted: readonly WantedPull[] = [pull("v1")]) {
  let state = initialTracker;
  samples.forEach((sample, i) => {
    state = trackPulls(state, { snapshot: snapshot(sample), wanted, now: 11_000 + i * 1_000 });
  });
  const found = (id: string): TrackedPull => {
    const tracked = state.pulls.get(id);
    if (!tracked) throw new Error(`no pull ${id}`);
    return tracked;
  };
  return { state, found };
}

const stages = ({ progress }: TrackedPull) =>
  progress.layers.map(({ stage, offset, total }) => `${stage} ${offset / mib}/${total / mib}`);

test.each<[string, Sample, TrackedPull["state"], string, string[]]>([
  ["no manifest yet", {}, "resolving", "0/0", []],
  [
    "a manifest of another repository",
    { manifests: [manifest("a", { repositories: ["registry.example.com/b"] })] },
    "resolving",
    "0/0",
    [],
  ],
  [
    "the manifest of an earlier pull",
    { manifests: [manifest("a", { createdMs: 5_000 })] },
    "resolving",
    "0/0",
    [],
  ],
  [
    "containerd 1.6 has no ingest of layers that wait",
    { manifests: [manifest("a")], ingests: { a1: mib } },
    "receiving",
    "1/8",
    ["downloading 1/3", "waiting 0/5"],
  ],
  [
    "containerd 2 has ingests at 0 of layers that wait",
    { manifests: [manifest("a")], ingests: { a1: mib, a2: 0 } },
    "receiving",
    "1/8",
    ["downloading 1/3", "waiting 0/5"],
  ],
  [
    "a layer has arrived",
    { manifests: [manifest("a")], ingests: { a2: mib }, stored: { a1: { createdMs: 11_000 } } },
    "receiving",
    "4/8",
    ["unpacking 3/3", "downloading 1/5"],
  ],
  [
    "a layer is unpacked",
    {
      manifests: [manifest("a")],
      ingests: { a2: mib },
      stored: { a1: { createdMs: 11_000, isUnpacked: true } },
    },
    "receiving",
    "4/8",
    ["done 3/3", "downloading 1/5"],
  ],
  [
    "3542-9 a layer was present before the pull",
    {
      manifests: [manifest("a")],
      ingests: { a2: mib },
      stored: { a1: { createdMs: 5_000, isUnpacked: true } },
    },
    "receiving",
    "1/5",
    ["exists 0/0", "downloading 1/5"],
  ],
  [
    "all bytes have arrived",
    {
      manifests: [manifest("a")],
      stored: { a1: { createdMs: 11_000, isUnpacked: true }, a2: { createdMs: 11_000 } },
    },
    "received",
    "8/8",
    ["done 3/3", "unpacking 5/5"],
  ],
  [
    "everything was present",
    { manifests: [manifest("a")], stored: { a1: { createdMs: 1 }, a2: { createdMs: 1 } } },
    "received",
    "0/0",
    ["exists 0/0", "exists 0/0"],
  ],
  [
    "a manifest from before whose layers are being received",
    { manifests: [manifest("a", { createdMs: 5_000 })], ingests: { a2: mib } },
    "receiving",
    "1/8",
    ["waiting 0/3", "downloading 1/5"],
  ],
  [
    "a manifest from before whose layers are being unpacked",
    {
      manifests: [manifest("a", { createdMs: 5_000 })],
      stored: { a1: { createdMs: 5_000, isUnpacked: true }, a2: { createdMs: 5_000 } },
    },
    "received",
    "0/0",
    ["exists 0/0", "exists 0/0"],
  ],
  [
    "an ingest that is larger than the manifest says",
    { manifests: [manifest("a")], ingests: { a1: 9 * mib } },
    "receiving",
    "3/8",
    ["downloading 3/3", "waiting 0/5"],
  ],
])("3542-14 %s", (_name, sample, state, amount, layers) => {
  const tracked = track([sample]).found("v1");
  expect(tracked.state).toBe(state);
  expect(`${tracked.progress.offset / mib}/${tracked.progress.total / mib}`).toBe(amount);
  expect(stages(tracked)).toEqual(layers);
  expect(tracked.oneOf).toBeUndefined();
});

test("3542-14 keeps the manifest of a pull that others of the repository follow", () => {
  const [a, b] = [manifest("a"), manifest("b", { createdMs: 12_500 })];
  let state = trackPulls(initialTracker, {
    snapshot: snapshot({ manifests: [a], ingests: { a1: 0 } }),
    wanted: [pull("v1")],
    now: 11_000,
  });
  const wanted = [pull("v1"), pull("v2", 12_000)];
  state = trackPulls(state, {
    snapshot: snapshot({ manifests: [a], ingests: { a1: mib } }),
    wanted,
    now: 12_000,
  });
  expect(state.pulls.get("v2")?.state).toBe("resolving");
  const later = snapshot({ manifests: [a, b], ingests: { a1: 2 * mib, b1: 0 } });
  state = trackPulls(state, { snapshot: later, wanted, now: 13_000 });
  expect([...state.pulls.values()].map(({ progress, oneOf }) => [progress.offset / mib, oneOf])).toEqual([
    [2, undefined],
    [0, undefined],
  ]);
});

test("3542-14 two tags of one repository that start between two samples are one of both", () => {
  const sample = {
    manifests: [manifest("a"), manifest("b", { createdMs: 10_200 })],
    ingests: { a1: mib, b1: 2 * mib },
  };
  const { found } = track([sample], [pull("v1"), pull("v2", 10_100)]);
  const names = [pull("v1").image, pull("v2").image];
  expect(found("v1")).toMatchObject({ oneOf: names, progress: { offset: mib } });
  expect(found("v2")).toMatchObject({ oneOf: names, progress: { offset: 2 * mib } });
});

test("3542-14 one manifest for two tags is one of both until one of them has ended", () => {
  const sample = { manifests: [manifest("a")], ingests: { a1: mib } };
  const { state, found } = track([sample], [pull("v1"), pull("v2")]);
  expect(found("v1").oneOf).toEqual([pull("v1").image, pull("v2").image]);
  const after = trackPulls(state, { snapshot: snapshot(sample), wanted: [pull("v2")], now: 12_000 });
  expect(after.pulls.get("v2")).toMatchObject({ progress: { offset: mib } });
  expect(after.pulls.get("v2")?.oneOf).toBeUndefined();
});

test("3542-14 a later pull has the manifest that only it can have requested", () => {
  const sample = {
    manifests: [manifest("a"), manifest("b", { createdMs: 20_000 })],
    ingests: { a1: mib, b1: 2 * mib },
  };
  const { found } = track([sample], [pull("v1"), pull("v2", 20_000)]);
  expect([found("v1"), found("v2")].map(({ progress, oneOf }) => [progress.offset / mib, oneOf])).toEqual([
    [1, undefined],
    [2, undefined],
  ]);
});

test.each([
  ["its manifest", digest("a"), []],
  ["an index", digest("e"), [digest("e")]],
])("3542-14 an image with a digest is found by %s", (_name, pinned, indexes) => {
  const sample = {
    manifests: [manifest("a", { indexes }), manifest("b")],
    ingests: { a1: mib, b1: 2 * mib },
  };
  const wanted = [{ ...pull("v1"), image: `registry.example.com:5000/app@${pinned}` }];
  expect(track([sample], wanted).found("v1")).toMatchObject({
    state: "receiving",
    progress: { offset: mib },
  });
});

test("3542-14 containers that pull one image have the same progress", () => {
  const wanted = [pull("v1"), { ...pull("v1", 12_000), id: "other" }];
  const { found } = track([{ manifests: [manifest("a")], ingests: { a1: mib } }], wanted);
  expect(found("other").progress).toEqual(found("v1").progress);
});

const receiving = (offset: number): Sample => ({ manifests: [manifest("a")], ingests: { a1: offset } });
const received: Sample = {
  manifests: [manifest("a")],
  stored: { a1: { createdMs: 11_000 }, a2: { createdMs: 11_000 } },
};

test.each<[string, readonly Sample[], number, boolean]>([
  ["no data since the first sample", [receiving(mib), receiving(mib), receiving(mib)], 2_000, true],
  ["less than the timeout", [receiving(mib), receiving(mib)], 2_000, false],
  ["data in between", [receiving(mib), receiving(2 * mib), receiving(2 * mib)], 2_000, false],
  ["a transfer that starts again", [receiving(mib), receiving(mib), receiving(0)], 2_000, false],
  ["no manifest", [{}, {}, {}], 2_000, true],
  ["the manifest has arrived", [{}, {}, receiving(0)], 2_000, false],
  ["3542-4 unpacking", [received, received, received, received], 2_000, false],
  ["disabled", [receiving(mib), receiving(mib), receiving(mib)], Number.POSITIVE_INFINITY, false],
])("3542-14 stalled: %s", (_name, samples, timeoutMs, stalled) => {
  const now = 10_000 + samples.length * 1_000;
  expect(isStalled(track(samples).found("v1"), timeoutMs, now)).toBe(stalled);
});

test.each([
  [0, Number.POSITIVE_INFINITY],
  [10, 60_000],
  [60, 60_000],
  [90, 90_000],
])("3542-14 a noProgressTimeout of %d s is %d ms on containerd", (seconds, ms) => {
  expect(timeoutOnContainerd(seconds)).toBe(ms);
});

const other = { ...pull("v1"), id: "b", image: "registry.example.com/b:1" };
const both = (a: Sample, b: Sample = {}): Sample => ({
  manifests: [...(a.manifests ?? []), ...(b.manifests ?? [])],
  ingests: { ...a.ingests, ...b.ingests },
  stored: { ...a.stored, ...b.stored },
});
/** Second image of which no layer has arrived. */
const untouched: Sample = {
  manifests: [manifest("b", { repositories: ["registry.example.com/b"] })],
  ingests: { b1: 0 },
};

test.each<[string, Sample, readonly WantedPull[], readonly string[]]>([
  ["the second of two without manifest", {}, [pull("v1"), other], ["b"]],
  ["one without manifest while another has one", receiving(0), [pull("v1"), other], ["b"]],
  ["one without manifest while another is unpacked", received, [pull("v1"), other], ["b"]],
  ["no single pull", {}, [pull("v1")], []],
  ["one without data while another receives", both(receiving(mib), untouched), [pull("v1"), other], ["b"]],
  ["none while both wait for data", both(receiving(0), untouched), [pull("v1"), other], []],
])("3542-14 queued: %s", (_name, sample, wanted, queued) => {
  const { pulls } = track([sample], wanted).state;
  expect([...pulls].flatMap(([id, { progress }]) => (progress.queued ? id : []))).toEqual(queued);
});

test("3542-14 a queued pull has the sizes of its layers, and its timeout starts when it is no longer queued", () => {
  const queue = both(receiving(mib), untouched);
  const done = both(received, untouched);
  const { state, found } = track([queue, queue, queue, done], [pull("v1"), other]);
  expect(found("b")).toMatchObject({ progress: { offset: 0, total: 8 * mib }, progressedMs: 13_000 });
  expect(found("b").progress.queued).toBeUndefined();
  const later = trackPulls(state, { snapshot: snapshot(done), wanted: [pull("v1"), other], now: 15_000 });
  expect(later.pulls.get("b")?.progressedMs).toBe(13_000);
});
