import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../../meta/feature-gates.ts";
import type { Container, KubeObject, PodSpec } from "../../../meta/objects.ts";
import { builtInKinds } from "../../built-in-kinds.ts";
import type { Strategy, StrategyContext } from "../../strategy.ts";

const on: StrategyContext = { features: defaultFeatures, now: 0 };
const off: StrategyContext = { features: { ...defaultFeatures, StartupProbeEnabled: false }, now: 0 };

const probed: Container = { name: "a", image: "b", startupProbe: { tcpSocket: { port: 1 } } };
const plain: Container = { name: "a", image: "b" };
const sidecar: Container = { ...probed, name: "side", restartPolicy: "Always" };

function makePodSpec(probes: boolean): PodSpec {
  return { containers: [probes ? probed : plain], initContainers: probes ? [sidecar] : [] };
}

/** A pod, or a kind that has a template of one. */
function makeObject(kind: string, probes: boolean): KubeObject & { spec: object } {
  const podSpec = structuredClone(makePodSpec(probes));
  const template = { metadata: { labels: { a: "b" } }, spec: podSpec };
  const spec = kind === "Pod" ? podSpec : { selector: { matchLabels: { a: "b" } }, template };
  return { apiVersion: "", kind, metadata: { name: "x" }, spec };
}

function countProbes(object: object): number {
  return JSON.stringify(object).split('"startupProbe"').length - 1;
}

function strategyOf(group: string, plural: string): Strategy {
  const found = builtInKinds.find(({ resource }) => resource.group === group && resource.plural === plural);
  if (!found) throw new Error(plural);
  return found.strategy;
}

describe.each([
  ["Pod", strategyOf("", "pods")],
  ["StatefulSet", strategyOf("apps", "statefulsets")],
  ["Deployment", strategyOf("apps", "deployments")],
  ["ReplicaSet", strategyOf("apps", "replicasets")],
])("950-8 %s", (kind, strategy) => {
  function create(context: StrategyContext): KubeObject {
    const object = makeObject(kind, true);
    strategy.applyDefaults?.(object, context);
    strategy.prepareForCreate?.(object, context);
    return object;
  }

  function update(context: StrategyContext, current: KubeObject): KubeObject {
    const next = makeObject(kind, true);
    strategy.applyDefaults?.(next, context);
    strategy.prepareForUpdate?.(next, current, context);
    return next;
  }

  test("950-8 gate on: startupProbe is kept on create and on update", () => {
    expect(countProbes(create(on))).toBe(2);
    expect(countProbes(update(on, makeObject(kind, false)))).toBe(2);
  });

  test("950-8 gate off: dropped on create, from init containers too", () => {
    expect(countProbes(create(off))).toBe(0);
  });

  test("950-8 gate off: dropped on update where there was none", () => {
    expect(countProbes(update(off, makeObject(kind, false)))).toBe(0);
  });

  test("950-8 gate off: kept on update where there was one", () => {
    expect(countProbes(update(off, makeObject(kind, true)))).toBe(2);
  });
});

test("fields of gates that are off in 1.36 are dropped, unless the stored object has them", () => {
  const strategy = strategyOf("", "pods");
  const makeLater = () => ({
    ...makeObject("Pod", false),
    spec: {
      containers: [
        { ...plain, lifecycle: { stopSignal: "SIGUSR1" } },
        { ...plain, lifecycle: { stopSignal: "SIGUSR1", preStop: { sleep: { seconds: 1 } } } },
      ],
      volumes: [
        {
          name: "v",
          projected: { sources: [{ clusterTrustBundle: { path: "p" } }, { podCertificate: {} }] },
        },
      ],
    },
  });
  const created = makeLater();
  strategy.prepareForCreate?.(created, on);
  expect(created.spec).toMatchObject({
    containers: [plain, { ...plain, lifecycle: { preStop: { sleep: { seconds: 1 } } } }],
    volumes: [{ name: "v", projected: { sources: [{}, {}] } }],
  });
  expect(JSON.stringify(created)).not.toMatch(
    /stopSignal|clusterTrustBundle|podCertificate|"lifecycle":\{\}/,
  );
  const updated = makeLater();
  strategy.prepareForUpdate?.(updated, makeLater(), on);
  expect(updated.spec).toEqual(makeLater().spec);
});
