import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import type { StatefulSet } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { Crash, createSimulatedApi, type SimulatedViews } from "../shared/simulated-api.fixture.ts";
import { brokenImages, kinds, type Lag, type Shape, type Step } from "./controller-steps.fixture.ts";
import { createInvariantChecker } from "./invariant-checker.fixture.ts";
import { hasReportedFailure, imageOf, isWell, setImage, setKey, statusOf } from "./simulated-pod.fixture.ts";
import { statefulSetController } from "./stateful-set-controller.ts";

const { signal } = new AbortController();

/** A StatefulSet, its controller, and the nodes that its pods run on. */
export function createWorld(shape: Shape) {
  const { type, policy, permanentOnly, rollingUpdate } = shape;
  const api = createSimulatedApi();
  const labels = { app: "web" };
  api.put("statefulsets", {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: {
      name: "web",
      namespace: "default",
      generation: 1,
      ...(permanentOnly && { annotations: { "kindling.dev/unstick": "permanent-only" } }),
    },
    spec: {
      replicas: 3,
      serviceName: "web",
      selector: { matchLabels: labels },
      podManagementPolicy: policy,
      updateStrategy: { type, rollingUpdate },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
      template: {
        metadata: { labels },
        spec: { nodeName: "node", containers: [{ name: "c", image: "good:1" }] },
      },
    },
  });
  const checker = createInvariantChecker(shape, api);
  let crashAtCall: number | undefined;
  let calls = 0;
  let views: SimulatedViews;
  let controller: ReturnType<typeof statefulSetController>;

  function onCall(call: string, when: "before" | "after"): void {
    calls++;
    // A process that has crashed makes no further calls, whatever its code does with the error.
    if (crashAtCall !== undefined && calls > crashAtCall) throw new Crash();
    checker[when](call);
    if (calls === crashAtCall) throw new Crash();
  }

  function restart(lag?: Lag): void {
    calls = 0;
    views = api.openViews((resource) => (resource === "jobs" ? 0 : (lag?.[resource] ?? 0)));
    checker.restarted(views.informers);
    const context = {
      client: api.client(onCall),
      clock: createManualClock(Date.parse("2026-01-01T00:00:00Z")),
      features: { ...defaultFeatures, StatefulSetRecreateStrategy: true },
      informers: views.informers,
      recorder: () => ({ record() {} }),
    };
    controller = statefulSetController(context, signal);
    controller.watch({ add() {} });
  }

  async function reconcile(crashAt?: number, lag?: Lag): Promise<void> {
    calls = 0;
    crashAtCall = crashAt;
    try {
      await controller.reconcile(setKey);
    } catch (error) {
      const why = error instanceof Error ? (error.cause ?? error) : error;
      if (why instanceof Crash) restart(lag);
      // Rejected requests are retried; any other error is a bug of the controller.
      else if (!(why instanceof StatusError)) throw error;
    }
    crashAtCall = undefined;
  }

  function node(podKey: string, does: "start" | "fail" | "end" | "finish"): void {
    const pod = api.get("pods", podKey);
    if (!pod) return;
    if (does === "finish") {
      if (pod.metadata.deletionTimestamp) api.remove("pods", podKey);
      return;
    }
    const image = imageOf(pod) ?? "";
    const status =
      does === "end" ? { phase: "Failed" } : statusOf(brokenImages.includes(image) ? image : does);
    api.put("pods", { ...pod, status });
  }

  function change(edit: (set: StatefulSet) => void): void {
    const set = structuredClone(api.get("statefulsets", setKey));
    if (!set) return;
    edit(set);
    set.metadata.generation = (set.metadata.generation ?? 0) + 1;
    api.put("statefulsets", set);
  }

  restart();
  return {
    api,
    problems: checker.problems,
    change,
    async take(step: Step): Promise<void> {
      switch (step.kind) {
        case "rounds":
          for (let i = 0; i < step.count; i++) await round();
          return;
        case "restart":
          return restart(step.lag);
        case "reconcile":
          return reconcile(step.crashAtCall, step.restartLag);
        case "deliver":
          return void views.deliver(step.resource, step.changes);
        case "node":
          return node(`default/web-${step.ordinal}`, step.does);
        case "image":
          return change(({ spec }) => setImage(spec, step.image));
        case "scale":
          return change(({ spec }) => Object.assign(spec ?? {}, { replicas: step.replicas }));
        case "evict": {
          const pod = api.get("pods", `default/web-${step.ordinal}`);
          if (!pod) return;
          const metadata = { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
          return api.put("pods", { ...pod, metadata });
        }
      }
    },
    /** Runs rounds until nothing changes. */
    async settle(): Promise<void> {
      for (let rounds = 0; rounds < 60; rounds++) if (!(await round())) return;
    },
  };

  /** Delivers all changes, lets nodes act and runs a reconciliation without faults. Returns whether anything changed. */
  async function round(): Promise<boolean> {
    const before = api.writes.length;
    deliverAll();
    await reconcile();
    deliverAll();
    let moved = false;
    for (const pod of api.list("pods")) {
      const podKey = `default/${pod.metadata.name}`;
      const starts = !isWell(pod) && pod.status?.phase !== "Failed" && !hasReportedFailure(pod);
      if (pod.metadata.deletionTimestamp) node(podKey, "finish");
      else if (starts) node(podKey, "start");
      else continue;
      moved = true;
    }
    return moved || api.writes.length > before;
  }

  function deliverAll(): void {
    for (const kind of kinds) views.deliver(kind, Number.POSITIVE_INFINITY);
  }
}
