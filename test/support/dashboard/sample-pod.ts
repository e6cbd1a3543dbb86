import type { PodView, PullView } from "../../../src/monitor/feed/feed-message.ts";

const mega = 1_000_000;

export function samplePod(now: number, more: Partial<PodView> = {}): PodView {
  const createdMs = more.createdMs ?? now - 4_200;
  return {
    uid: "pod-1",
    namespace: "shop",
    name: "web-0",
    node: "node-1",
    owner: "StatefulSet/web",
    createdMs,
    stage: "pulling",
    since: undefined,
    because: "Pulls image registry.example/shop/web:2.1.",
    isTransient: true,
    resolvesWhen: "when the image is here",
    fix: undefined,
    spans: [
      { name: "scheduling", startMs: createdMs, endMs: createdMs + 200 },
      { name: "volumes and sandbox", startMs: createdMs + 200, endMs: createdMs + 1_100 },
      more.pulls?.length
        ? { name: "pull web:2.1", startMs: createdMs + 1_150, endMs: undefined }
        : { name: "images and containers", startMs: createdMs + 1_100, endMs: undefined },
    ],
    pulls: [],
    probes: [],
    ...more,
  };
}

export function samplePull(now: number, part: number): PullView {
  const layer = (digest: string, megabytes: number, own: number, stage: string) => ({
    layer: `sha256:${digest}`,
    offset: Math.round(megabytes * mega * own),
    total: megabytes * mega,
    stage,
  });
  return {
    container: "web",
    image: "registry.example/shop/web:2.1",
    startedAt: new Date(now - 3_000).toISOString(),
    offset: 82 * mega * part,
    total: 82 * mega,
    layers: [
      { layer: "sha256:3fe1a02c77b94d0e", offset: 0, total: 0, stage: "exists" },
      layer("9c04b1f2ab5d17e3", 3.4, 1, "done"),
      layer("b7e2d90c11fa6284", 48, Math.min(1, part * 1.1), "downloading"),
      layer("04aa51c8e7d3b96f", 24.6, part * 0.9, "downloading"),
      layer("e91c66d20b48f5a7", 6, 0, "waiting"),
    ],
  };
}
