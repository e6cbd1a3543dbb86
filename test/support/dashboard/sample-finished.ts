import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";

interface Workload {
  readonly namespace: string;
  readonly owner: string;
  readonly revisions: readonly string[];
  /** Seconds that its pods usually take. */
  readonly pull: number;
  readonly ready: number;
}

const workloads: readonly [Workload, ...Workload[]] = [
  {
    namespace: "shop",
    owner: "StatefulSet/web",
    revisions: ["web-6b7d9", "web-84fc1"],
    pull: 2.2,
    ready: 0.8,
  },
  {
    namespace: "shop",
    owner: "StatefulSet/search",
    revisions: ["search-77c5d", "search-5f6b8"],
    pull: 1.4,
    ready: 9,
  },
  { namespace: "shop", owner: "Deployment/checkout", revisions: ["5d8f9c6b7"], pull: 0.5, ready: 0.3 },
  { namespace: "post", owner: "StatefulSet/mailer", revisions: ["mailer-66bb4"], pull: 0.9, ready: 1.1 },
  { namespace: "batch", owner: "Job/report", revisions: [""], pull: 0.7, ready: 0.1 },
];

/** The same numbers each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function sampleFinished(now: number, count: number): readonly FinishedView[] {
  const random = seeded(7);
  const pick = <T>(list: readonly [T, ...T[]]): T => list[Math.floor(random() * list.length)] ?? list[0];
  const spread = () => Math.exp((random() + random() + random() - 1.5) * 1.1);
  return Array.from({ length: count }, (_, i) => {
    const workload = pick(workloads);
    const readyMs = now - (i / count) * 3_300_000 - random() * 4_000;
    // The newer revision is the one of the last twenty minutes, and pulls a larger image.
    const isNew = readyMs > now - 1_200_000;
    const revision = (isNew ? workload.revisions.at(-1) : workload.revisions[0]) ?? "";
    const storage = workload.owner.includes("StatefulSet")
      ? [pick(["fast-ssd", "standard", "standard"])]
      : [];
    const stages: Record<string, number> = {
      scheduling: 0.08 * spread(),
      sandbox: (storage[0] === "standard" ? 1.5 : 0.35) * spread(),
      containers: workload.pull * (isNew && workload.revisions.length > 1 ? 1.8 : 1) * spread(),
      readiness: workload.ready * spread(),
    };
    if (workload.namespace === "batch") stages.init = 3.2 * spread();
    const seconds = Object.values(stages).reduce((sum, each) => sum + each, 0);
    const name = `${workload.owner.split("/")[1]}-${Math.floor(random() * 9_000 + 1_000)}`;
    return {
      uid: `finished-${i}`,
      namespace: workload.namespace,
      name,
      node: pick(["node-1", "node-2", "node-3"]),
      owner: workload.owner,
      revision,
      runtimeClass: random() < 0.1 ? "gvisor" : "",
      storageClasses: storage,
      createdMs: readyMs - seconds * 1_000,
      readyMs,
      stages,
      userError: random() < 0.02 ? "configmap not found" : undefined,
    };
  });
}
